#include "starling/transport/inproc.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "starling/core/error.h"
#include "starling/core/random.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/run.h"
#include "starling/runtime/when.h"
#include "tests/support/check.h"

namespace starling::transport {
namespace {

using namespace std::chrono_literals;
using namespace testing;
using runtime::Scope;
using runtime::Task;
using runtime::VirtualScheduler;
using Bytes = std::vector<std::byte>;

constexpr AlphaBeta::Link kInprocLink{1us, 1e-9};

// FNV-1a over everything that happens: rank, event and time.
struct Trace {
  void note(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) hash = (hash ^ ((value >> (8 * byte)) & 0xff)) * 0x100000001b3ULL;
  }
  std::uint64_t hash = 0xcbf29ce484222325ULL;
};

Task<> chatter(Transport& net, int messages) {
  Random random(static_cast<std::uint64_t>(net.rank()));
  std::deque<Bytes> data;
  std::deque<Sending> sends;
  for (int i = 0; i < messages; ++i) {
    const auto to = static_cast<Rank>(random.below(static_cast<std::uint64_t>(net.size())));
    sends.emplace_back(net, to, 1, data.emplace_back(static_cast<std::size_t>(random.below(50))));
    if (random.chance(0.3)) co_await runtime::sleep_for(Duration(random.below(40)));
  }
  for (auto& send : sends) co_await send;
}

Task<> listen(Transport& net, Trace& trace) {
  for (;;) {
    const Letter letter = co_await net.recv_any(1);
    for (const auto value : {net.rank(), letter.from, static_cast<int>(letter.bytes.size())}) {
      trace.note(static_cast<std::uint64_t>(value));
    }
    trace.note(static_cast<std::uint64_t>(net.scheduler().now().time_since_epoch().count()));
  }
}

std::uint64_t trace_of(VirtualScheduler& scheduler) {
  AlphaBeta network(kInprocLink);
  InprocWorld world(scheduler, 6, network);
  Trace trace;
  const auto all = [&]() -> Task<> {
    Scope listeners(co_await runtime::this_context()), talkers(co_await runtime::this_context());
    for (Rank rank = 0; rank < world.size(); ++rank) {
      listeners.spawn(listen(world.at(rank), trace));
      talkers.spawn(chatter(world.at(rank), 60));
    }
    co_await talkers.join();
    co_await runtime::sleep_for(1s);
  };
  runtime::run(scheduler, all());
  trace.note(scheduler.events());
  return trace.hash;
}

TEST(Inproc, RandomTrafficReplaysBitByBit) {
  VirtualScheduler first, second;
  std::set<std::uint64_t> traces{trace_of(first)};
  EXPECT_EQ(traces.count(trace_of(second)), 1u);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    VirtualScheduler once(seed), again(seed);
    const std::uint64_t trace = trace_of(once);
    EXPECT_EQ(trace, trace_of(again)) << "seed " << seed;
    traces.insert(trace);
  }
  EXPECT_EQ(traces.size(), 6u) << "every seed gives another history";
}

Task<> send_letter(Transport& net, Rank to) { co_await net.send(to, 1, {}); }

TEST(Inproc, SeedsShuffleArrivalsOfOneInstantFromSeveralRanks) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    VirtualScheduler scheduler(seed);
    AlphaBeta network(kInprocLink);
    InprocWorld world(scheduler, 4, network);
    std::string order;
    const auto all = [&]() -> Task<> {
      Scope scope(co_await runtime::this_context());
      for (Rank rank = 1; rank < 4; ++rank) scope.spawn(send_letter(world.at(rank), 0));
      for (int i = 0; i < 3; ++i) order += concat((co_await world.at(0).recv_any(1)).from);
    };
    runtime::run(scheduler, all());
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 6u);
}

// Empty messages all arrive in one instant. Some are withdrawn while others wait behind them.
Task<> send_numbered(Transport& net, std::uint64_t seed, std::vector<int>& kept) {
  Random random(seed);
  const Bytes none;
  std::deque<std::optional<Sending>> sends;
  for (int i = 0; i < 40; ++i) {
    sends.emplace_back(std::in_place, net, 1, static_cast<Tag>(i % 2), none);
  }
  co_await runtime::sleep_for(1us);  // in the very instant of their arrival
  for (int i = 0; i < 40; ++i) {
    auto& send = sends[static_cast<std::size_t>(i)];
    if (!send->done() && random.chance(0.5)) {
      send.reset();
    } else {
      kept.push_back(i);
    }
  }
  for (auto& send : sends) {
    if (!send) continue;
    Sending& sending = *send;
    co_await sending;
  }
}

TEST(Inproc, AMessageDoesNotOvertakeAnEarlierOneInItsInstant) {
  bool any_withdrawn = false;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    VirtualScheduler scheduler(seed);
    AlphaBeta network(kInprocLink);
    InprocWorld world(scheduler, 2, network);
    std::vector<int> kept;
    const auto receive = [&]() -> Task<> {
      co_await runtime::sleep_for(1ms);
      int received = 0;
      for (const Tag tag : {0, 1}) {
        for (const int number : kept) {
          if (number % 2 != static_cast<int>(tag)) continue;
          co_await world.at(1).recv(0, tag, {});
          ++received;
        }
      }
      EXPECT_EQ(received, static_cast<int>(kept.size()));
      world.at(1).set_patience(1ms);
      for (const Tag tag : {0, 1}) {
        auto surplus = world.at(1).recv(0, tag, {});
        co_await error_of<Timeout>(surplus);
      }
    };
    runtime::run(scheduler, runtime::when_all(send_numbered(world.at(0), seed, kept), receive()));
    any_withdrawn |= kept.size() < 40;
  }
  EXPECT_TRUE(any_withdrawn);
}

Task<> send_sized(Transport& net) {
  const Bytes data(64);
  std::deque<Sending> sends;
  for (std::size_t i = 0; i < 30; ++i) sends.emplace_back(net, 1, 1, std::span(data).first(i % 7));
  for (auto& send : sends) co_await send;
}

TEST(Inproc, OrderHoldsInEveryShuffledHistory) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    VirtualScheduler scheduler(seed);
    AlphaBeta network({1us, 0});  // infinitely fast: all arrive at once
    InprocWorld world(scheduler, 2, network);
    const auto receive = [&]() -> Task<> {
      Bytes buffer(64);
      for (std::size_t i = 0; i < 30; ++i) co_await world.at(1).recv(0, 1, std::span(buffer).first(i % 7));
    };
    ASSERT_NO_THROW(runtime::run(scheduler, runtime::when_all(send_sized(world.at(0)), receive())))
        << "seed " << seed;
  }
}

TEST(Inproc, NothingIsDeliveredBeforeItsTime) {
  VirtualScheduler scheduler;
  AlphaBeta network(kInprocLink);
  InprocWorld world(scheduler, 2, network);
  const Bytes data = pattern(3000, 1);
  const auto all = [&]() -> Task<> {
    Bytes buffer(3000);
    auto sending = world.at(0).send(1, 1, data);
    EXPECT_FALSE(sending.done());
    co_await world.at(1).recv(0, 1, buffer);
    EXPECT_EQ(scheduler.now(), Time(4us));
    EXPECT_TRUE(sending.done());
    EXPECT_EQ(buffer, data);
    co_await sending;
  };
  runtime::run(scheduler, all());
}

TEST(Inproc, AWithdrawnSendIsNotDelivered) {
  VirtualScheduler scheduler;
  AlphaBeta network(kInprocLink);
  InprocWorld world(scheduler, 2, network);
  const auto all = [&]() -> Task<> {
    { const auto sending = world.at(0).send(1, 1, {}); }
    auto receiving = world.at(1).recv(0, 1, {});
    world.at(1).set_patience(1ms);
    co_await receiving;
  };
  EXPECT_THROW(runtime::run(scheduler, all()), Timeout);
}

TEST(Inproc, ALossIsToldOnce) {
  VirtualScheduler scheduler;
  AlphaBeta network(kInprocLink);
  InprocWorld world(scheduler, 3, network);
  world.lose(1, "first reason");
  world.lose(1, "second reason");
  for (const Rank rank : {0, 2}) EXPECT_EQ(world.at(rank).why_lost(1), "first reason");
  EXPECT_FALSE(world.at(0).lost(2));
}

TEST(Inproc, AMessageOnItsWayToALostRankFails) {
  VirtualScheduler scheduler;
  AlphaBeta network(kInprocLink);
  InprocWorld world(scheduler, 2, network);
  const auto all = [&]() -> Task<> {
    auto sending = world.at(0).send(1, 1, {});
    world.lose(1, "gone");
    co_await sending;
  };
  EXPECT_THROW(runtime::run(scheduler, all()), PeerLost);
}

}  // namespace
}  // namespace starling::transport
