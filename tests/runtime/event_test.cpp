#include "starling/runtime/event.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/run.h"
#include "starling/runtime/virtual_scheduler.h"

namespace starling::runtime {
namespace {

Task<> note_after(Event& event, int id, std::vector<int>& log) {
  co_await event;
  log.push_back(id);
}

TEST(Event, ASetEventDoesNotSuspend) {
  VirtualScheduler scheduler;
  Event event;
  event.set();
  EXPECT_TRUE(event.is_set());
  std::vector<int> log;
  run(scheduler, note_after(event, 1, log));
  EXPECT_EQ(log, (std::vector<int>{1}));
  EXPECT_EQ(scheduler.events(), 1u);  // the start of the task
}

TEST(Event, AWaitWithoutHasteIsNoStall) {
  VirtualScheduler scheduler;
  Event prompt("an answer"), slow("a gradient", Event::Kind::kRare);
  std::vector<int> log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    scope.spawn(note_after(slow, 1, log), "user");
    co_await yield();
    EXPECT_EQ(scheduler.stalled_since(scheduler.now()), "");
    scope.spawn(note_after(prompt, 2, log), "peer");
    co_await yield();
    EXPECT_EQ(scheduler.stalled_since(scheduler.now()), "main/peer waits for an answer since 0 s (0 s)");
    EXPECT_NE(scheduler.waits().find("user waits for a gradient"), std::string::npos);
    slow.set();
    prompt.set();
    co_await scope.join();
  };
  run(scheduler, body());
  EXPECT_EQ(log, (std::vector<int>{1, 2}));
}

TEST(Event, WakesAllInTheOrderTheyCame) {
  VirtualScheduler scheduler;
  Event event;
  std::vector<int> log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    for (int id = 0; id < 3; ++id) scope.spawn(note_after(event, id, log));
    co_await yield();
    EXPECT_TRUE(log.empty());
    event.set();
    EXPECT_TRUE(log.empty()) << "set() must not run anybody";
    co_await scope.join();
  };
  run(scheduler, body());
  EXPECT_EQ(log, (std::vector<int>{0, 1, 2}));
}

TEST(Event, PulseWakesThoseWhoWaitNowAndLeavesTheFlag) {
  VirtualScheduler scheduler;
  Event event;
  std::vector<int> log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    scope.spawn(note_after(event, 1, log));
    co_await yield();
    event.pulse();
    EXPECT_FALSE(event.is_set());
    scope.spawn(note_after(event, 2, log));
    co_await yield();
    co_await yield();
    EXPECT_EQ(log, (std::vector<int>{1}));
    event.set();
    co_await scope.join();
  };
  run(scheduler, body());
  EXPECT_EQ(log, (std::vector<int>{1, 2}));
}

TEST(Event, ResetMakesItWaitAgain) {
  VirtualScheduler scheduler;
  Event event("the starting gun");
  event.set();
  event.reset();
  EXPECT_FALSE(event.is_set());
  std::vector<int> log;
  try {
    run(scheduler, note_after(event, 1, log), "runner");
    FAIL() << "did not wait";
  } catch (const Deadlock& deadlock) {
    EXPECT_NE(std::string(deadlock.what()).find("runner waits for the starting gun"), std::string::npos)
        << deadlock.what();
  }
}

TEST(Event, ACancelledWaitIsNotWoken) {
  VirtualScheduler scheduler;
  Event event;
  std::vector<int> log;
  const auto body = [&]() -> Task<> {
    {
      Scope scope(co_await this_context());
      scope.spawn(note_after(event, 1, log));
      co_await yield();
    }
    Scope scope(co_await this_context());
    scope.spawn(note_after(event, 2, log));
    co_await yield();
    event.set();
    scope.cancel();  // woken, but not run yet
    event.reset();
    scope.spawn(note_after(event, 3, log));
    co_await yield();
    event.set();
    co_await scope.join();
  };
  run(scheduler, body());
  EXPECT_EQ(log, (std::vector<int>{3}));
}

TEST(Event, ADyingEventForgetsItsWaits) {
  VirtualScheduler scheduler;
  std::vector<int> log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    Event event;  // dies before the scope
    scope.spawn(note_after(event, 1, log));
    co_await yield();
  };
  run(scheduler, body());
  EXPECT_TRUE(log.empty());
  EXPECT_EQ(scheduler.waits(), "");
}

}  // namespace
}  // namespace starling::runtime
