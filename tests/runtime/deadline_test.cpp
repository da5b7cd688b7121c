#include "starling/runtime/deadline.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "starling/runtime/event.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/runtime/mailbox.h"
#include "starling/runtime/run.h"
#include "starling/runtime/virtual_scheduler.h"

namespace starling::runtime {
namespace {

using namespace std::chrono_literals;

Task<int> value_later(int value, Duration time) {
  co_await sleep_for(time);
  co_return value;
}

Task<> take_one(Mailbox<int>& box) { co_await box.take(); }

TEST(Sleep, WakesAtTheTime) {
  VirtualScheduler scheduler;
  const auto body = [&]() -> Task<> {
    co_await sleep_until(Time(5ms));
    EXPECT_EQ(scheduler.now(), Time(5ms));
    co_await sleep_for(2ms);
    EXPECT_EQ(scheduler.now(), Time(7ms));
    co_await sleep_until(Time(1ms));  // has passed
    EXPECT_EQ(scheduler.now(), Time(7ms));
  };
  run(scheduler, body());
}

TEST(Sleep, NeverWakesEarlyInRealTime) {
  LoopScheduler scheduler;
  const auto body = [&]() -> Task<> {
    for (const Duration time : {Duration(0), Duration(20us), Duration(2ms)}) {
      const Time start = scheduler.now();
      co_await sleep_for(time);
      EXPECT_GE(scheduler.now() - start, time);
    }
  };
  run(scheduler, body());
}

TEST(Sleep, YieldLetsTheOthersRunFirst) {
  VirtualScheduler scheduler;
  std::string log;
  const auto writes = [&](char letter) -> Task<> {
    log += letter;
    co_return;
  };
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    scope.spawn(writes('a'));
    scope.spawn(writes('b'));
    co_await yield();
    log += 'c';
  };
  run(scheduler, body());
  EXPECT_EQ(log, "abc");
}

TEST(Deadline, PassesTheResultOn) {
  VirtualScheduler scheduler;
  EXPECT_EQ(run(scheduler, with_deadline(10ms, "an answer", value_later(42, 9ms))), 42);
  EXPECT_EQ(scheduler.now(), Time(9ms));
  run(scheduler, with_deadline(1ms, "a pause", sleep_for(1us)));
}

TEST(Deadline, PassesErrorsOn) {
  VirtualScheduler scheduler;
  const auto fails = []() -> Task<> {
    co_await yield();
    throw Error("broken");
  };
  EXPECT_THROW(run(scheduler, with_deadline(1ms, "it", fails())), Error);
}

TEST(Deadline, NamesWhatTookTooLongAndWhatItWaitedFor) {
  VirtualScheduler scheduler;
  Mailbox<int> box("gradients of rank 3");
  try {
    run(scheduler, with_deadline(1500us, "step 7", take_one(box)), "rank 2");
    FAIL() << "no time-out";
  } catch (const Timeout& error) {
    EXPECT_STREQ(error.what(),
                 "step 7: not done after 1.5 ms; rank 2 waits for gradients of rank 3 since 0 s (1.5 ms)");
  }
  EXPECT_EQ(scheduler.now(), Time(1500us));
}

TEST(Deadline, CancelsTheTask) {
  VirtualScheduler scheduler;
  Mailbox<int> box;
  const auto held = std::make_shared<int>(1);
  const auto keeps = [](std::shared_ptr<int> copy, Mailbox<int>& from) -> Task<int> {
    co_return *copy + co_await from.take();
  };
  EXPECT_THROW(run(scheduler, with_deadline(1ms, "it", keeps(held, box))), Timeout);
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(scheduler.waits(), "");
  box.put(1);
  EXPECT_EQ(box.size(), 1u) << "nobody takes any more";
}

TEST(Deadline, TheInnerOneCountsIfItIsShorter) {
  VirtualScheduler scheduler;
  Mailbox<int> box("mail");
  try {
    run(scheduler, with_deadline(10ms, "outer", with_deadline(3ms, "inner", take_one(box))));
    FAIL() << "no time-out";
  } catch (const Timeout& error) {
    EXPECT_EQ(std::string(error.what()).rfind("inner: not done after 3 ms", 0), 0u) << error.what();
  }
  try {
    run(scheduler, with_deadline(3ms, "outer", with_deadline(10ms, "inner", take_one(box))));
    FAIL() << "no time-out";
  } catch (const Timeout& error) {
    EXPECT_EQ(std::string(error.what()).rfind("outer: not done after 3 ms", 0), 0u) << error.what();
  }
}

// Both in one instant: the result or the Timeout, but nothing is torn.
TEST(Deadline, EndsWellOrLateIfBothComeAtOnce) {
  int late = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    VirtualScheduler scheduler(seed);
    try {
      EXPECT_EQ(run(scheduler, with_deadline(5ms, "it", value_later(1, 5ms))), 1);
    } catch (const Timeout&) {
      ++late;
    }
    EXPECT_EQ(scheduler.waits(), "");
  }
  EXPECT_GT(late, 0);
  EXPECT_LT(late, 40);
}

TEST(Deadline, WorksInRealTime) {
  LoopScheduler scheduler;
  Mailbox<int> box("mail");
  EXPECT_THROW(run(scheduler, with_deadline(2ms, "it", take_one(box))), Timeout);
  EXPECT_GE(scheduler.now(), Time(2ms));
}

}  // namespace
}  // namespace starling::runtime
