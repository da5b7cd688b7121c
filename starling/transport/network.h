// How long bytes take between simulated ranks. The virtual in-process transport hands each message to a
// Network as a transfer and delivers it when the network says that it arrived. A richer cluster model is
// another Network; nothing else changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "starling/core/types.h"
#include "starling/runtime/scheduler.h"
#include "starling/runtime/wakeup.h"

namespace starling::transport {

// A message in flight; as a wakeup it fires on arrival.
struct Transfer : runtime::Wakeup {
  explicit Transfer(Action on_arrival) : Wakeup(on_arrival) {}
  Rank from = 0;
  Rank to = 0;
  std::size_t bytes = 0;
  std::uint32_t note = 0;  // for the network's own use
};

class Network {
 public:
  virtual ~Network() = default;
  // Queues the transfer for the time of its arrival, now or later.
  virtual void start(runtime::Scheduler& scheduler, Transfer& transfer) = 0;
  // Called before a transfer in progress is destroyed. It may also have arrived.
  virtual void cancel(Transfer& transfer) noexcept { transfer.cancel(); }
};

// Each directed pair of ranks has its own link: a message of m bytes occupies it for m * beta and arrives
// alpha after it has left. Messages on one link follow one another; links do not disturb each other.
class AlphaBeta final : public Network {
 public:
  struct Link {
    Duration alpha{};             // start-up time of a message
    double seconds_per_byte = 0;  // beta
  };

  explicit AlphaBeta(Link link) : default_(link) {}
  void set_link(Rank from, Rank to, Link link) { state(from, to).link = link; }
  void start(runtime::Scheduler& scheduler, Transfer& transfer) override;

 private:
  struct State {
    Link link;
    Time free{};
  };
  State& state(Rank from, Rank to);

  Link default_;
  std::unordered_map<std::uint64_t, State> links_;
};

}  // namespace starling::transport
