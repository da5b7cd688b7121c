// Moves bytes between ranks. Messages of one (from, to, tag) arrive in the order they were sent; a receive
// states the exact size; any number of operations may be in flight.
//
//   auto sent = net.send(right, tag, chunk);       // posted now, not when it is awaited
//   co_await net.recv(left, tag, buffer);
//   co_await sent;                                 // the chunk may be reused
//
// An operation is an object of the caller's frame, not a task of its own: it costs no allocation, and posting
// before waiting, which every exchange needs, is the natural way to write it. Destroying an operation that is
// not done withdraws it: a message that its receiver has not taken is not delivered, a receive no longer
// writes into its buffer.
//
// A transport belongs to the thread of its scheduler.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/core/types.h"
#include "starling/runtime/event.h"
#include "starling/runtime/scheduler.h"
#include "starling/transport/common_memory.h"
#include "starling/transport/operation.h"

namespace starling::transport {

class SharedMemory;

// Decides about ranks that seem to be gone. A transport with a judge loses such a rank only when the judge
// says so (Transport::exclude); until then operations with it wait. Called on the thread of the scheduler.
class Judge {
 public:
  enum class Evidence {
    kEnded,        // certain: the rank's process has ended or left
    kUnreachable,  // the connection to it is broken
    kSilent,       // nothing has been heard of it for too long; it may be heard again
  };

  virtual void suspect(Rank rank, Evidence evidence, const std::string& why) = 0;
  // A rank that was silent has been heard.
  virtual void hear_again(Rank rank) = 0;

 protected:
  ~Judge() = default;
};

// A block of memory from the transport; freed when the last copy of `owner` goes.
struct Memory {
  std::span<std::byte> bytes;
  std::shared_ptr<void> owner;
};

struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

class Transport {
 public:
  Transport(runtime::Scheduler& scheduler, Rank rank, int size);
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual std::string_view name() const = 0;
  Rank rank() const { return rank_; }
  int size() const { return size_; }
  runtime::Scheduler& scheduler() const { return scheduler_; }

  Sending send(Rank to, Tag tag, std::span<const std::byte> data) { return {*this, to, tag, data}; }
  Receiving recv(Rank from, Tag tag, std::span<std::byte> data, Idle idle = Idle::kNo) {
    return {*this, from, tag, data, idle};
  }
  ReceivingAny recv_any(Tag tag, Idle idle = Idle::kNo) { return {*this, tag, idle}; }

  // How long an operation may wait before it fails with Timeout. There is no limit unless one is set: a peer
  // that lives is waited for, and the wait for one that is lost ends at once.
  Duration patience() const { return patience_; }
  void set_patience(Duration patience) { patience_ = patience; }

  // A rank that is lost stays lost: every operation that needs it fails with PeerLost, except receives of
  // messages that had arrived before. `losses` pulses each time.
  bool any_lost() const { return !why_lost_.empty(); }
  std::size_t lost_count() const { return why_lost_.size(); }
  bool lost(Rank rank) const { return any_lost() && why_lost_.count(rank) != 0; }
  // The reason for the loss of a lost rank.
  const std::string& why_lost(Rank rank) const { return why_lost_.at(rank); }
  runtime::Event& losses() { return losses_; }

  // The judge of losses among the first `ranks` ranks; null: each is lost at the first evidence. It must
  // outlive its office.
  void set_judge(Judge* judge, int ranks) {
    judge_ = judge;
    judged_ranks_ = judge == nullptr ? 0 : ranks;
  }
  // The rank is lost from now on; nothing that it sends is received any more.
  virtual void exclude(Rank rank, const std::string& why) { record_loss(rank, why); }

  // By rank: ranks with the same number share a host. Null where the hosts are unknown, as on one host.
  const std::shared_ptr<const std::vector<int>>& hosts() const { return hosts_; }
  void set_hosts(std::shared_ptr<const std::vector<int>> host_of_rank) { hosts_ = std::move(host_of_rank); }

  // Memory that is best to send from: from the shared arena if there is one, else from the heap.
  virtual Memory allocate(std::size_t bytes);
  // Null where ranks share no memory.
  virtual SharedMemory* shared() { return nullptr; }
  // The same; on virtual time the ranks of a host have it too.
  virtual CommonMemory* common_memory() { return nullptr; }

  // The loop runs without pause from now on, until the end of beating. Ranks of the same host end one that
  // stands still for longer than the limit; without a limit nobody is ended.
  virtual void begin_beating(std::optional<Duration> /*stall_limit*/) {}
  virtual void end_beating() {}

  // Whether messages may be ghosts; otherwise sending or receiving one is an InvalidArgument.
  virtual bool carries_ghosts() const { return false; }

  // The traffic sent since the start.
  const Traffic& traffic() const { return traffic_; }

 protected:
  virtual void start_send(Sending& sending) = 0;
  virtual void start_recv(Inbound& receiving) = 0;
  virtual void withdraw_send(Sending& sending) noexcept = 0;
  virtual void withdraw_recv(Inbound& receiving) noexcept = 0;
  // A message that was handed to a Network has reached its receiver.
  virtual void arrive(Sending& sending);

  bool judged(Rank rank) const { return rank < judged_ranks_; }
  Judge& judge() { return *judge_; }
  // False if the rank was lost before.
  bool record_loss(Rank rank, std::string why);
  std::exception_ptr loss_of(Rank rank) const;
  // The error of a receive that can no longer be satisfied, else null.
  std::exception_ptr hopeless(const Inbound& receiving) const;

 private:
  friend class Operation;
  friend class Sending;
  friend class Inbound;
  friend class Receiving;
  friend class ReceivingAny;

  void begin(Sending& sending);
  void begin(Inbound& receiving);
  Rank check_rank(Rank rank, std::string_view what) const;
  [[noreturn]] void refuse_ghost(const Operation& operation, std::string_view what) const;

  runtime::Scheduler& scheduler_;
  Rank rank_;
  int size_;
  Judge* judge_ = nullptr;
  int judged_ranks_ = 0;
  std::map<Rank, std::string> why_lost_;  // the lost ones only, which saves memory
  runtime::Event losses_{"the loss of a rank", runtime::Event::Kind::kRare};
  Duration patience_ = kForever;
  Traffic traffic_;
  std::shared_ptr<const std::vector<int>> hosts_;  // shared by thousands of simulated ranks
};

// Beats while it lives, however its scope is left.
class Beating {
 public:
  Beating(Transport& net, std::optional<Duration> stall_limit) : net_(net) {
    net_.begin_beating(stall_limit);
  }
  ~Beating() { net_.end_beating(); }
  Beating(const Beating&) = delete;
  Beating& operator=(const Beating&) = delete;

 private:
  Transport& net_;
};

}  // namespace starling::transport
