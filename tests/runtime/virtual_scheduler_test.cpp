#include "starling/runtime/virtual_scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "starling/core/error.h"
#include "starling/core/random.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/event.h"
#include "starling/runtime/mailbox.h"
#include "starling/runtime/run.h"

namespace starling::runtime {
namespace {

using namespace std::chrono_literals;

Task<> writes_at(char letter, Time time, std::string& log) {
  co_await sleep_until(time);
  log += letter;
}

Task<> writes(char letter, std::string& log) {
  log += letter;
  co_return;
}

TEST(VirtualScheduler, StartsAtZero) {
  const VirtualScheduler scheduler;
  EXPECT_EQ(scheduler.now(), Time());
  EXPECT_EQ(scheduler.events(), 0u);
}

TEST(VirtualScheduler, RunsByTimeThenBySequence) {
  VirtualScheduler scheduler;
  std::string log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    scope.spawn(writes_at('d', Time(20ns), log));
    scope.spawn(writes_at('b', Time(10ns), log));
    scope.spawn(writes_at('e', Time(20ns), log));
    scope.spawn(writes_at('c', Time(10ns), log));
    scope.spawn(writes('a', log));
    co_await scope.join();
  };
  run(scheduler, body());
  EXPECT_EQ(log, "abcde");
}

// A timer that was set before something became ready runs before it, and one set later after it.
TEST(VirtualScheduler, TimersAndReadyTasksOfAnInstantShareOneOrder) {
  VirtualScheduler scheduler;
  std::string log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    scope.spawn(writes_at('b', Time(10ns), log));
    scope.spawn(writes_at('c', Time(10ns), log));
    const auto first = [&](Scope& others) -> Task<> {
      co_await sleep_until(Time(10ns));
      log += 'a';
      others.spawn(writes('d', log));  // behind b and c, which were queued long ago
      others.spawn(writes_at('f', Time(10ns), log));
      others.spawn(writes('e', log));
    };
    co_await first(scope);
    co_await scope.join();
  };
  // The sleep of `first` is queued when the body runs, so before those of its children.
  run(scheduler, body());
  EXPECT_EQ(log, "abcdef");
}

std::string order_of_three(VirtualScheduler& scheduler) {
  std::string log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    for (const char letter : {'a', 'b', 'c'}) scope.spawn(writes_at(letter, Time(10ns), log));
    co_await scope.join();
  };
  run(scheduler, body());
  return log;
}

std::string order_of_three_ready(VirtualScheduler& scheduler) {
  std::string log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    for (const char letter : {'a', 'b', 'c'}) scope.spawn(writes(letter, log));
    co_await scope.join();
  };
  run(scheduler, body());
  return log;
}

TEST(VirtualScheduler, SeedsShuffleWhatHappensInOneInstant) {
  std::set<std::string> of_timers, of_ready;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    VirtualScheduler scheduler(seed), again(seed);
    const std::string timers = order_of_three(scheduler), ready = order_of_three_ready(scheduler);
    ASSERT_EQ(timers, order_of_three(again)) << "seed " << seed;
    ASSERT_EQ(ready, order_of_three_ready(again)) << "seed " << seed;
    of_timers.insert(timers);
    of_ready.insert(ready);
  }
  EXPECT_EQ(of_timers.size(), 6u);
  EXPECT_EQ(of_ready.size(), 6u);
}

struct Writer : Wakeup {
  Writer(char one, std::string& text) : Wakeup(&Writer::write), letter(one), log(text) {}
  static void write(Wakeup& self) { static_cast<Writer&>(self).log += static_cast<Writer&>(self).letter; }
  char letter;
  std::string& log;
};

// It also runs behind what others of that instant queue after it; and it may be moved and cancelled.
TEST(VirtualScheduler, TheEndOfAnInstantComesAfterAllElseOfIt) {
  for (std::uint64_t seed = 0; seed <= 20; ++seed) {
    VirtualScheduler scheduler = seed > 0 ? VirtualScheduler(seed) : VirtualScheduler();
    std::string log;
    Writer last('z', log), cancelled('y', log);
    const auto body = [&]() -> Task<> {
      Scope scope(co_await this_context());
      scope.spawn(writes_at('b', Time(11ns), log));
      co_await sleep_until(Time(10ns));
      scheduler.at_end(last);
      scheduler.at_end(last);
      scheduler.at_end(cancelled);
      cancelled.cancel();
      for (int i = 0; i < 3; ++i) scope.spawn(writes('a', log));
      for (int i = 0; i < 3; ++i) scope.spawn(writes_at('a', Time(10ns), log));
      co_await scope.join();
    };
    run(scheduler, body());
    EXPECT_EQ(log, "aaaaaazb") << "seed " << seed;
  }
}

TEST(VirtualScheduler, SeedsDoNotReorderTime) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    VirtualScheduler scheduler(seed);
    std::string log;
    const auto body = [&]() -> Task<> {
      Scope scope(co_await this_context());
      for (int i = 0; i < 26; ++i)
        scope.spawn(writes_at(static_cast<char>('z' - i), Time(Duration(100 - i)), log));
      co_await scope.join();
    };
    run(scheduler, body());
    ASSERT_EQ(log, "abcdefghijklmnopqrstuvwxyz") << "seed " << seed;
  }
}

// FNV-1a over everything that happens: rank, time and event.
struct Trace {
  void note(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) hash = (hash ^ ((value >> (8 * byte)) & 0xff)) * 0x100000001b3ULL;
  }
  std::uint64_t hash = 0xcbf29ce484222325ULL;
};

Task<> wanders(int id, VirtualScheduler& scheduler, std::vector<Mailbox<int>>& boxes, Trace& trace) {
  Random random(static_cast<std::uint64_t>(id));
  for (int step = 0; step < 50; ++step) {
    co_await sleep_for(Duration(random.below(4)));
    boxes[static_cast<std::size_t>(random.below(boxes.size()))].put(id * 1000 + step);
    auto& mine = boxes[static_cast<std::size_t>(id)];
    while (!mine.empty()) trace.note(static_cast<std::uint64_t>(co_await mine.take()));
    trace.note(static_cast<std::uint64_t>(scheduler.now().time_since_epoch().count()));
    trace.note(scheduler.events());
  }
}

std::uint64_t trace_of(VirtualScheduler& scheduler) {
  Trace trace;
  std::vector<Mailbox<int>> boxes(10);
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    for (int id = 0; id < 10; ++id) scope.spawn(wanders(id, scheduler, boxes, trace));
    co_await scope.join();
  };
  run(scheduler, body());
  trace.note(scheduler.events());
  return trace.hash;
}

TEST(VirtualScheduler, ReplaysBitByBit) {
  VirtualScheduler first, second;
  const std::uint64_t unshuffled = trace_of(first);
  EXPECT_EQ(unshuffled, trace_of(second));
  std::set<std::uint64_t> traces{unshuffled};
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    VirtualScheduler once(seed), again(seed);
    const std::uint64_t trace = trace_of(once);
    EXPECT_EQ(trace, trace_of(again)) << "seed " << seed;
    traces.insert(trace);
  }
  EXPECT_EQ(traces.size(), 6u) << "every seed gives another history";
}

TEST(VirtualScheduler, ADeadlockListsWhoWaitsForWhatSinceWhen) {
  VirtualScheduler scheduler;
  Event gate("the gate");
  Mailbox<int> box("mail");
  const auto at_gate = [&]() -> Task<> {
    co_await sleep_for(2us);
    co_await gate;
  };
  const auto at_box = [&]() -> Task<> { co_await box.take(); };
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    scope.spawn(at_gate(), "porter");
    scope.spawn(at_box(), "postman");
    co_await sleep_for(7us);
    co_await scope.join();
  };
  try {
    run(scheduler, body(), "house");
    FAIL() << "no deadlock";
  } catch (const Deadlock& deadlock) {
    EXPECT_STREQ(deadlock.what(),
                 "deadlock at 7 us: nothing can run any more\n"
                 "house/postman waits for mail since 0 s (7 us)\n"
                 "house/porter waits for the gate since 2 us (5 us)\n"
                 "house waits for the end of porter, postman since 7 us (0 s)");
  }
  EXPECT_EQ(scheduler.waits(), "") << "the stuck tasks are gone";
}

}  // namespace
}  // namespace starling::runtime
