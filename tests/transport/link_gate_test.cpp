// Emulated links on virtual time, where every arrival can be stated to the nanosecond.
#include "starling/transport/shm/link_gate.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/run.h"
#include "starling/runtime/virtual_scheduler.h"
#include "starling/transport/transport.h"

namespace starling::transport::shm {
namespace {

using namespace std::chrono_literals;
using runtime::Scope;
using runtime::Task;
using runtime::VirtualScheduler;

constexpr Link kGateLink{1e9, 5us};  // a nanosecond per byte

// A rank that has a gate and nothing else: what leaves one goes straight into the other's.
class GatedRank final : public Transport {
 public:
  GatedRank(VirtualScheduler& scheduler, std::vector<std::unique_ptr<GatedRank>>& ranks, Rank rank, int size)
      : Transport(scheduler, rank, size),
        gate(
            scheduler, kGateLink, [this](const Sending&) { ++begun; },
            [this](Sending& sending) {
              auto arrival = std::make_unique<KeptArrival>(this->rank(), sending.tag(), sending.data());
              ranks_[static_cast<std::size_t>(sending.peer())]->gate.in.take(std::move(arrival),
                                                                             sending.flight.arrives);
              sending.complete();
            },
            [this](std::unique_ptr<Arrival> arrival) { matcher_.deliver(std::move(arrival)); },
            [this](Rank lost) { end(lost); }),
        ranks_(ranks) {}

  std::string_view name() const override { return "gated"; }
  int begun = 0;
  LinkGate gate;

 private:
  void start_send(Sending& sending) override { gate.out.send(sending); }
  void start_recv(Inbound& receiving) override {
    if (matcher_.post(receiving)) return;
    if (const std::exception_ptr error = hopeless(receiving)) receiving.fail(error);
  }
  void withdraw_send(Sending& sending) noexcept override { gate.out.withdraw(sending); }
  void withdraw_recv(Inbound& receiving) noexcept override { receiving.unlink(); }
  void end(Rank other) {
    record_loss(other, "its end was told");
    matcher_.fail_if([&](const Inbound& receiving) { return hopeless(receiving); });
    gate.out.fail(other, loss_of(other));
  }

  std::vector<std::unique_ptr<GatedRank>>& ranks_;
  Matcher matcher_;
};

class LinkGateTest : public ::testing::Test {
 protected:
  explicit LinkGateTest(int ranks = 4) {
    for (Rank rank = 0; rank < ranks; ++rank) {
      ranks_.push_back(std::make_unique<GatedRank>(scheduler_, ranks_, rank, ranks));
    }
  }

  GatedRank& rank(Rank number) { return *ranks_[static_cast<std::size_t>(number)]; }
  Time now() const { return scheduler_.now(); }

  // Each in a task of its own; returns when all are done.
  void run(std::vector<Task<>> tasks) {
    const auto all = [&]() -> Task<> {
      Scope scope(co_await runtime::this_context());
      for (Task<>& task : tasks) scope.spawn(std::move(task));
      co_await scope.join();
    };
    runtime::run(scheduler_, all());
  }

  Task<> send_at(Time at, Rank from, Rank to, Tag tag, std::size_t bytes, Time done) {
    const std::vector<std::byte> data(bytes);
    co_await runtime::sleep_until(at);
    co_await rank(from).send(to, tag, data);
    EXPECT_EQ(now(), done) << "send " << tag << " from " << from;
  }
  Task<> receive(Rank to, Rank from, Tag tag, std::size_t bytes, Time done) {
    std::vector<std::byte> data(bytes);
    co_await rank(to).recv(from, tag, data);
    EXPECT_EQ(now(), done) << "receive " << tag << " from " << from;
  }

  VirtualScheduler scheduler_;
  std::vector<std::unique_ptr<GatedRank>> ranks_;
};

TEST_F(LinkGateTest, AMessageAloneTakesLatencyAndItsBytes) {
  std::vector<Task<>> tasks;
  tasks.push_back(send_at(Time(0us), 0, 1, 1, 1000, Time(1us)));  // done when it has left
  tasks.push_back(receive(1, 0, 1, 1000, Time(6us)));
  tasks.push_back(send_at(Time(100us), 0, 1, 2, 0, Time(100us)));
  tasks.push_back(receive(1, 0, 2, 0, Time(105us)));
  run(std::move(tasks));
}

TEST_F(LinkGateTest, OneSenderSendsOneAfterTheOther) {
  std::vector<Task<>> tasks;
  for (int i = 0; i < 8; ++i) {
    const Rank to = 1 + i % 3;  // to whomever
    tasks.push_back(send_at(Time(0us), 0, to, 7, 1000, Time((i + 1) * 1us)));
    tasks.push_back(receive(to, 0, 7, 1000, Time((i + 1) * 1us + 5us)));
  }
  run(std::move(tasks));
}

TEST_F(LinkGateTest, OneReceiverReceivesOneAfterTheOther) {
  std::vector<Task<>> tasks;
  for (Rank from = 1; from < 4; ++from) {
    tasks.push_back(send_at(Time(0us), from, 0, 7, 1000, Time(1us)));
    tasks.push_back(receive(0, from, 7, 1000, Time(from * 1us + 5us)));
  }
  run(std::move(tasks));
}

TEST_F(LinkGateTest, BothDirectionsAreUsedAtOnce) {
  std::vector<Task<>> tasks;
  for (const Rank from : {0, 1}) {
    tasks.push_back(send_at(Time(0us), from, 1 - from, 7, 1000, Time(1us)));
    tasks.push_back(receive(1 - from, from, 7, 1000, Time(6us)));
  }
  run(std::move(tasks));
}

// The incoming side is busy while the bytes of a message arrive: a later and smaller one waits for the rest
// only.
TEST_F(LinkGateTest, WhatArrivesWhileTheWayInIsBusyWaitsItsTurn) {
  std::vector<Task<>> tasks;
  tasks.push_back(send_at(Time(0us), 1, 0, 7, 1000, Time(1us)));
  tasks.push_back(send_at(Time(600ns), 2, 0, 7, 500, Time(1100ns)));
  tasks.push_back(receive(0, 1, 7, 1000, Time(6us)));
  tasks.push_back(receive(0, 2, 7, 500, Time(6500ns)));
  tasks.push_back(send_at(Time(20us), 3, 0, 7, 500, Time(20500ns)));  // idle again: nothing is paid twice
  tasks.push_back(receive(0, 3, 7, 500, Time(25500ns)));
  run(std::move(tasks));
}

// Records are seen in any order, by ranks that were busy; the first to arrive is delivered first.
TEST_F(LinkGateTest, TheOrderOfArrivalCountsNotThatOfNotice) {
  const auto arrival = [](Rank from, std::size_t bytes) {
    return std::make_unique<KeptArrival>(from, 7, std::vector<std::byte>(bytes));
  };
  rank(0).gate.in.take(arrival(1, 1000), Time(9us));
  rank(0).gate.in.take(arrival(2, 1000), Time(8500ns));
  std::vector<Task<>> tasks;
  tasks.push_back(receive(0, 2, 7, 1000, Time(8500ns)));
  tasks.push_back(receive(0, 1, 7, 1000, Time(9500ns)));
  run(std::move(tasks));
}

TEST_F(LinkGateTest, AWithdrawnMessageLeavesTheRestOfItsTimeToOthers) {
  const auto sender = [&]() -> Task<> {
    const std::vector<std::byte> data(1000);
    std::optional<Sending> leaving(std::in_place, rank(0), 1, 1, data);
    std::optional<Sending> queued(std::in_place, rank(0), 1, 2, data);
    const Time early(400ns);
    auto last = rank(0).send(1, 3, data);
    co_await runtime::sleep_until(early);
    queued.reset();
    leaving.reset();
    co_await last;
    EXPECT_EQ(now(), Time(1400ns));
    EXPECT_EQ(rank(0).begun, 2);
  };
  std::vector<Task<>> tasks;
  tasks.push_back(sender());
  tasks.push_back(receive(1, 0, 3, 1000, Time(6400ns)));
  run(std::move(tasks));
}

TEST_F(LinkGateTest, TheNewsOfAnEndComesBehindWhatWasSent) {
  const auto receiver = [&]() -> Task<> {
    std::vector<std::byte> data(1000);
    const Time end(1us);
    co_await runtime::sleep_until(end);
    for (int i = 0; i < 2; ++i) rank(0).gate.in.take_end(1);
    auto first = rank(0).recv(1, 7, data);
    auto second = rank(0).recv(1, 7, data);
    co_await first;
    EXPECT_EQ(now(), Time(6us));
    std::string why;
    try {
      co_await second;
    } catch (const PeerLost& error) {
      why = error.what();
    }
    EXPECT_EQ(why, "rank 1 lost: its end was told");
    EXPECT_EQ(now(), Time(6us));
  };
  std::vector<Task<>> tasks;
  tasks.push_back(send_at(Time(0us), 1, 0, 7, 1000, Time(1us)));
  tasks.push_back(receiver());
  run(std::move(tasks));
}

TEST_F(LinkGateTest, MessagesToALostRankFailAndTheOthersMoveUp) {
  const auto sender = [&]() -> Task<> {
    const std::vector<std::byte> data(1'000'000);
    auto leaving = rank(0).send(1, 1, data);
    auto other = rank(0).send(2, 1, std::span(data).first(1000));
    auto queued = rank(0).send(1, 1, data);
    rank(0).gate.in.take_end(1);
    for (Sending* doomed : {&leaving, &queued}) {
      bool failed = false;
      try {
        co_await *doomed;
      } catch (const PeerLost& error) {
        failed = error.rank == 1;
      }
      EXPECT_TRUE(failed);
      EXPECT_EQ(now(), Time(5us));
    }
    co_await other;
    EXPECT_EQ(now(), Time(6us));
  };
  std::vector<Task<>> tasks;
  tasks.push_back(sender());
  run(std::move(tasks));
}

// Nothing depends on messages in flight when the gates are destroyed.
TEST_F(LinkGateTest, MayBeDestroyedWithMessagesUnderWay) {
  const auto sender = [&]() -> Task<> {
    const std::vector<std::byte> data(1000);
    const auto leaving = rank(0).send(1, 1, data);
    const auto queued = rank(0).send(1, 2, data);
    const Time between(1500ns);
    co_await runtime::sleep_until(between);
    EXPECT_TRUE(leaving.done());
    EXPECT_FALSE(queued.done());
  };
  std::vector<Task<>> tasks;
  tasks.push_back(sender());
  run(std::move(tasks));
}

}  // namespace
}  // namespace starling::transport::shm
