#include "starling/transport/inproc.h"

#include <set>
#include <unordered_map>
#include <utility>

#include "starling/core/error.h"
#include "starling/transport/matcher.h"

namespace starling::transport {

class InprocWorld::Endpoint : public Transport {
 public:
  using Transport::Transport;

  std::string_view name() const override { return "inproc"; }

  // Any thread may call this.
  virtual void learn_loss(Rank rank, const std::string& why) = 0;
  virtual void part_from(Rank /*rank*/) {}
  virtual void reunite_with(Rank /*rank*/) {}
  virtual void miss(Rank /*rank*/, const std::string& /*why*/) {}

  // What it sent before and what has not been received yet is gone as well.
  void exclude(Rank rank, const std::string& why) override {
    if (!record_loss(rank, why)) return;
    fenced_.insert(rank);
    end_operations_with(rank);
  }
  bool fenced(Rank rank) const { return fenced_.count(rank) != 0; }

 protected:
  void start_recv(Inbound& receiving) override {
    if (matcher_.post(receiving)) return;
    if (const std::exception_ptr error = hopeless(receiving)) receiving.fail(error);
  }

  void withdraw_recv(Inbound& receiving) noexcept override { receiving.unlink(); }

  void apply_loss(Rank rank, const std::string& why, Judge::Evidence evidence = Judge::Evidence::kEnded) {
    if (judged(rank) && !lost(rank)) return judge().suspect(rank, evidence, why);
    if (record_loss(rank, why)) end_operations_with(rank);
  }

  virtual void end_operations_with(Rank /*rank*/) {
    matcher_.fail_if([&](const Inbound& receiving) { return hopeless(receiving); });
  }

  Matcher matcher_;

 private:
  std::set<Rank> fenced_;
};

// The common memory of a host.
struct InprocWorld::CommonBlock {
  Memory memory;
  std::set<Rank> ended;
  runtime::Event changed{"a change of the memory that the ranks of the host share"};
};

// On virtual time a message in flight is the Sending itself; nothing is copied if the receive was posted when
// it arrives. Messages to one rank are delivered in the order they were sent, even if the network or the
// shuffling of an instant lets one overtake another: the later one is then held back.
class InprocWorld::VirtualEndpoint final : public Endpoint, public CommonMemory {
 public:
  VirtualEndpoint(InprocWorld& world, runtime::Scheduler& scheduler, Rank rank, int size, Network& network)
      : Endpoint(scheduler, rank, size), world_(world), network_(network) {}

  bool carries_ghosts() const override { return true; }
  void learn_loss(Rank rank, const std::string& why) override {
    common().ended.insert(rank);
    apply_loss(rank, why);
    tell_others();
  }

  CommonMemory* common_memory() override { return this; }
  std::byte* find() const override { return common().memory.bytes.data(); }
  void put(const Memory& block) override {
    common().memory = block;
    tell_others();
  }
  bool has(Rank other) const override { return host_of(other) == host_of(rank()); }
  bool gone(Rank other) const override {
    return has(other) && (common().ended.count(other) != 0 || lost(other));
  }
  runtime::Task<> wait_until(std::function<bool()> condition) override {
    while (!condition()) co_await common().changed;
  }
  void tell_others() override { common().changed.pulse(); }

  // The other end of the connection notices as soon as it can be reached.
  void exclude(Rank rank, const std::string& why) override {
    Endpoint::exclude(rank, why);
    tell_others();
    peer(rank).notice_closed(this->rank());
  }

  void part_from(Rank rank) override { apart_.insert(rank); }

  void reunite_with(Rank rank) override {
    apart_.erase(rank);
    release(rank);
    if (missed_.erase(rank) != 0 && judged(rank) && !lost(rank)) judge().hear_again(rank);
    notice_closed(rank);
  }

  void miss(Rank rank, const std::string& why) override {
    if (!judged(rank)) return exclude(rank, why);
    missed_.insert(rank);
    apply_loss(rank, why, Judge::Evidence::kSilent);
  }

 private:
  using Queue = Operation::Queue;
  static constexpr std::uint64_t kHeldBack = 1;  // a ticket

  void start_send(Sending& sending) override {
    if (lost(sending.peer())) return sending.fail(loss_of(sending.peer()));
    sending.flight.from = rank();
    sending.flight.to = sending.peer();
    sending.flight.bytes = sending.bytes();
    sending.flight.link = &under_way_[sending.peer()];
    sending.flight.link->push_back(sending);
    network_.start(scheduler(), sending.flight);
  }

  void withdraw_send(Sending& sending) noexcept override {
    network_.cancel(sending.flight);
    sending.unlink();
    if (Sending* next = held_back(*sending.flight.link)) scheduler().soon(next->flight);
  }

  void arrive(Sending& sending) override {
    const Rank to = sending.peer();
    if (&sending.flight.link->front() != &sending || apart_.count(to) != 0) {
      sending.ticket = kHeldBack;
      return;
    }
    deliver(sending);
    release(to);
  }

  void end_operations_with(Rank rank) override {
    Endpoint::end_operations_with(rank);
    release(rank);
  }

  // What has arrived at the other end and waits for nothing any more.
  void release(Rank to) {
    const auto link = under_way_.find(to);
    if (link == under_way_.end()) return;
    while (apart_.count(to) == 0 || lost(to)) {
      Sending* const next = held_back(link->second);
      if (next == nullptr) return;
      deliver(*next);
    }
  }

  void notice_closed(Rank by) {
    if (apart_.count(by) == 0 && peer(by).fenced(rank()))
      apply_loss(by, "it has closed the connection", Judge::Evidence::kUnreachable);
  }

  // Where the hosts are unknown, there is one.
  int host_of(Rank rank) const { return hosts() ? hosts()->at(static_cast<std::size_t>(rank)) : 0; }
  CommonBlock& common() const { return world_.common_block_of(host_of(rank())); }

  VirtualEndpoint& peer(Rank rank) { return static_cast<VirtualEndpoint&>(world_.at(rank)); }

  // The first on the link, if it has arrived.
  static Sending* held_back(Queue& link) {
    if (link.empty()) return nullptr;
    auto& first = static_cast<Sending&>(link.front());
    return first.ticket == kHeldBack ? &first : nullptr;
  }

  void deliver(Sending& sending) {
    if (lost(sending.peer())) return sending.fail(loss_of(sending.peer()));
    VirtualEndpoint& receiver = peer(sending.peer());
    if (receiver.fenced(rank())) return sending.complete();  // it goes nowhere
    if (Inbound* receiving = receiver.matcher_.find(rank(), sending.tag())) {
      hand_over(rank(), sending.data(), *receiving);
    } else {
      receiver.matcher_.deliver(std::make_unique<KeptArrival>(rank(), sending.tag(), sending.data()));
    }
    sending.complete();
  }

  InprocWorld& world_;
  Network& network_;
  std::unordered_map<Rank, Queue> under_way_;  // by receiver, in the order of sending; entries never move
  std::set<Rank> apart_;
  std::set<Rank> missed_;  // of these: have been silent for too long
};

// On threads a message is copied and posted to the receiver's loop; the send is done at once.
class InprocWorld::LoopEndpoint final : public Endpoint {
 public:
  LoopEndpoint(InprocWorld& world, runtime::LoopScheduler& loop, Rank rank, int size)
      : Endpoint(loop, rank, size), world_(world), loop_(loop) {}

  void learn_loss(Rank rank, const std::string& why) override {
    loop_.post([this, rank, why] { apply_loss(rank, why); });
  }

 private:
  void start_send(Sending& sending) override {
    if (lost(sending.peer())) return sending.fail(loss_of(sending.peer()));
    auto& receiver = static_cast<LoopEndpoint&>(world_.at(sending.peer()));
    auto arrival = std::make_shared<std::unique_ptr<Arrival>>(
        std::make_unique<KeptArrival>(rank(), sending.tag(), sending.data()));
    receiver.loop_.post([&receiver, arrival, from = rank()] {
      if (!receiver.fenced(from)) receiver.matcher_.deliver(std::move(*arrival));
    });
    sending.complete();
  }

  void withdraw_send(Sending&) noexcept override {}

  InprocWorld& world_;
  runtime::LoopScheduler& loop_;
};

InprocWorld::InprocWorld(runtime::VirtualScheduler& scheduler, int ranks, Network& network) {
  for (Rank rank = 0; rank < ranks; ++rank) {
    endpoints_.push_back(std::make_unique<VirtualEndpoint>(*this, scheduler, rank, ranks, network));
  }
}

InprocWorld::InprocWorld(const std::vector<runtime::LoopScheduler*>& loops) {
  const int ranks = static_cast<int>(loops.size());
  for (Rank rank = 0; rank < ranks; ++rank) {
    endpoints_.push_back(
        std::make_unique<LoopEndpoint>(*this, *loops[static_cast<std::size_t>(rank)], rank, ranks));
  }
}

InprocWorld::~InprocWorld() = default;

InprocWorld::Endpoint& InprocWorld::endpoint(Rank rank) {
  return *endpoints_.at(static_cast<std::size_t>(rank));
}

Transport& InprocWorld::at(Rank rank) { return endpoint(rank); }

InprocWorld::CommonBlock& InprocWorld::common_block_of(int host) {
  std::unique_ptr<CommonBlock>& block = common_blocks_[host];
  if (!block) block = std::make_unique<CommonBlock>();
  return *block;
}

void InprocWorld::lose(Rank rank, const std::string& why) {
  for (auto& endpoint : endpoints_) endpoint->learn_loss(rank, why);
}

void InprocWorld::part(Rank a, Rank b) {
  endpoint(a).part_from(b);
  endpoint(b).part_from(a);
}

void InprocWorld::reunite(Rank a, Rank b) {
  endpoint(a).reunite_with(b);
  endpoint(b).reunite_with(a);
}

void InprocWorld::miss(Rank observer, Rank rank, const std::string& why) {
  endpoint(observer).miss(rank, why);
}

void InprocWorld::lose_at(Rank observer, Rank rank, const std::string& why) {
  endpoint(observer).learn_loss(rank, why);
}

}  // namespace starling::transport
