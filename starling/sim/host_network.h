// The network of a cluster of hosts. A host has an outgoing side and an incoming side, each of its outside
// bandwidth, and one link inside, which all messages between its own ranks share. A message to another host
// passes the sender's outgoing and the receiver's incoming side.
//
// Sharing is fluid: a side divides its bandwidth equally among the flows that pass it, and a flow runs at the
// smaller of its two shares. The part of a share that a flow cannot use, because its other side gives it
// less, is not given to others; so the rate of a flow depends on nothing but its own two sides. A message
// arrives one latency after its last byte has left; during the latency it occupies nothing.
//
// A message of at most 256 bytes is a packet and not a flow: it has no share but a turn. Packets pass a side
// one after the other at its full bandwidth and do not slow flows down.
//
// A flow that is alone on its sides costs one event and constant work. On a side with k flows a change costs
// O(k), and all changes of one instant are settled together at its end: n workers that push to one server at
// the same moment cost O(n).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "starling/cluster/cluster.h"
#include "starling/core/types.h"
#include "starling/runtime/scheduler.h"
#include "starling/runtime/wakeup.h"
#include "starling/transport/network.h"

namespace starling::sim {

class HostNetwork final : public transport::Network {
 public:
  // Rank r is on host host_of_rank[r]. Bandwidths are finite and above 0.
  HostNetwork(const std::vector<cluster::HostSpec>& hosts, std::vector<int> host_of_rank);

  // All transfers of a network are on one scheduler, which is on virtual time and outlives the network.
  void start(runtime::Scheduler& scheduler, transport::Transfer& transfer) override;
  // Gives the share of a transfer in progress back to the others in this instant.
  void cancel(transport::Transfer& transfer) noexcept override;

  // From now on the outside bandwidth of the host, in both directions, is the specified one divided by
  // `factor`. Flows in progress go on at their new rates.
  void set_outside(runtime::Scheduler& scheduler, int host, double factor);

 private:
  struct Flow;

  struct Side {
    double bytes_per_second = 0;
    Time notes_until{};    // when the packets so far have passed
    bool changed = false;  // and listed in changed_
    std::vector<Flow*> flows;
    double share() const { return bytes_per_second / static_cast<double>(flows.size()); }
  };

  struct Host {
    cluster::Link outside;
    cluster::Link inside;
    Side outgoing;
    Side incoming;
    Side inner;
  };

  // A message whose bytes are leaving. `left` bytes remained at `since`; at `end` there will be none. A flow
  // that is alone on its sides has no other to give way to, so nothing happens at its end: it stays until the
  // next flow comes by. Its transfer may be gone by then.
  struct Flow {
    Flow(HostNetwork& owner, std::uint32_t number) : drained(*this), network(owner), note(number) {}

    struct Drained : runtime::Wakeup {
      explicit Drained(Flow& owner) : Wakeup(&Drained::run), flow(owner) {}
      static void run(Wakeup& self);
      Flow& flow;
    };

    double rate() const;
    bool alone() const;

    Drained drained;
    HostNetwork& network;
    std::uint32_t note;  // its index in flows_, from 1
    Flow* next_free = nullptr;
    transport::Transfer* transfer = nullptr;
    double left = 0;
    double bytes_per_second = 0;
    Time since{};
    Time end{};
    Duration latency{};
    std::uint64_t settled = 0;             // the last round of settling that saw it
    std::array<Side*, 2> sides{};          // the second is null inside a host
    std::array<std::uint32_t, 2> place{};  // its index in the lists of its sides
  };

  struct Settle : runtime::Wakeup {
    explicit Settle(HostNetwork& owner) : Wakeup(&Settle::run), network(owner) {}
    static void run(Wakeup& self) { static_cast<Settle&>(self).network.settle(); }
    HostNetwork& network;
  };

  static constexpr std::size_t kNote = 256;

  Host& host_of(Rank rank);
  Time pass(Side& side, std::size_t bytes);
  Flow& add_flow(transport::Transfer& transfer, Side& first, Side* second);
  void remove(Flow& flow) noexcept;
  void clear_drained(Side& side);
  void set_rate(Flow& flow, double bytes_per_second);
  void note_change(Side& side);
  void settle();
  void settle(Flow& flow);

  runtime::Scheduler* scheduler_ = nullptr;
  std::vector<int> host_of_rank_;
  std::vector<Host> hosts_;
  std::vector<Side*> changed_;
  std::deque<Flow> flows_;
  Flow* free_ = nullptr;
  std::uint64_t round_ = 0;
  Settle settle_{*this};
};

}  // namespace starling::sim
