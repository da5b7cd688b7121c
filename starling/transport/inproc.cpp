#include "starling/transport/inproc.h"

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

 protected:
  void start_recv(Inbound& receiving) override {
    if (matcher_.post(receiving)) return;
    if (const std::exception_ptr error = hopeless(receiving)) receiving.fail(error);
  }

  void withdraw_recv(Inbound& receiving) noexcept override { receiving.unlink(); }

  void apply_loss(Rank rank, const std::string& why) {
    if (!record_loss(rank, why)) return;
    matcher_.fail_if([&](const Inbound& receiving) { return hopeless(receiving); });
  }

  Matcher matcher_;
};

// On virtual time a message in flight is the Sending itself; nothing is copied if the receive was posted when
// it arrives. Messages to one rank are delivered in the order they were sent, even if the network or the
// shuffling of an instant lets one overtake another: the later one is then held back.
class InprocWorld::VirtualEndpoint final : public Endpoint {
 public:
  VirtualEndpoint(InprocWorld& world, runtime::Scheduler& scheduler, Rank rank, int size, Network& network)
      : Endpoint(scheduler, rank, size, kForever), world_(world), network_(network) {}

  bool carries_ghosts() const override { return true; }
  void learn_loss(Rank rank, const std::string& why) override { apply_loss(rank, why); }

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
    Queue& link = *sending.flight.link;
    if (&link.front() != &sending) {
      sending.ticket = kHeldBack;
      return;
    }
    deliver(sending);
    while (Sending* next = held_back(link)) deliver(*next);
  }

  // The first on the link, if it has arrived.
  static Sending* held_back(Queue& link) {
    if (link.empty()) return nullptr;
    auto& first = static_cast<Sending&>(link.front());
    return first.ticket == kHeldBack ? &first : nullptr;
  }

  void deliver(Sending& sending) {
    if (lost(sending.peer())) return sending.fail(loss_of(sending.peer()));
    auto& receiver = static_cast<VirtualEndpoint&>(world_.at(sending.peer()));
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
    receiver.loop_.post([&receiver, arrival] { receiver.matcher_.deliver(std::move(*arrival)); });
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

Transport& InprocWorld::at(Rank rank) { return *endpoints_.at(static_cast<std::size_t>(rank)); }

void InprocWorld::lose(Rank rank, const std::string& why) {
  for (auto& endpoint : endpoints_) endpoint->learn_loss(rank, why);
}

void InprocWorld::lose_at(Rank observer, Rank rank, const std::string& why) {
  endpoints_.at(static_cast<std::size_t>(observer))->learn_loss(rank, why);
}

}  // namespace starling::transport
