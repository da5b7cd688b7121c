#include "starling/runtime/scope.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/event.h"
#include "starling/runtime/run.h"
#include "starling/runtime/virtual_scheduler.h"

namespace starling::runtime {
namespace {

using Log = std::vector<std::string>;

struct LoggedFrame {
  LoggedFrame(std::string n, Log& l) : name(std::move(n)), log(l) {}
  LoggedFrame(const LoggedFrame&) = delete;
  LoggedFrame& operator=(const LoggedFrame&) = delete;
  ~LoggedFrame() { log.push_back(name + " gone"); }
  std::string name;
  Log& log;
};

Task<> works(std::string name, Duration time, Log& log) {
  const LoggedFrame guard(name, log);
  co_await sleep_for(time);
  log.push_back(name + " done");
}

Task<> fails_after(std::string text, Duration time) {
  if (time > Duration(0)) co_await sleep_for(time);
  throw Error(text);
}

TEST(Scope, JoinWaitsForAll) {
  VirtualScheduler scheduler;
  Log log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    scope.spawn(works("b", Duration(20), log));
    scope.spawn(works("a", Duration(10), log));
    EXPECT_EQ(scope.size(), 2u);
    EXPECT_TRUE(co_await scope.join());
    EXPECT_EQ(scope.size(), 0u);
    log.push_back("joined");
  };
  run(scheduler, body());
  EXPECT_EQ(log, (Log{"a done", "a gone", "b done", "b gone", "joined"}));
  EXPECT_EQ(scheduler.now(), Time(Duration(20)));
}

TEST(Scope, SpawnDoesNotRunTheChildInline) {
  VirtualScheduler scheduler;
  const auto body = [&]() -> Task<> {
    bool started = false;
    const auto child = [](bool& flag) -> Task<> {
      flag = true;
      co_return;
    };
    Scope scope(co_await this_context());
    scope.spawn(child(started));
    EXPECT_FALSE(started);
    const Time before = scheduler.now();
    co_await scope.join();
    EXPECT_TRUE(started);
    EXPECT_EQ(scheduler.now(), before) << "it starts in the same instant";
  };
  run(scheduler, body());
}

TEST(Scope, AnEmptyScopeJoinsAtOnce) {
  VirtualScheduler scheduler;
  const auto body = []() -> Task<bool> {
    Scope scope(co_await this_context());
    co_return co_await scope.join();
  };
  EXPECT_TRUE(run(scheduler, body()));
  EXPECT_EQ(scheduler.events(), 1u);
}

TEST(Scope, TheFirstErrorWinsAndCancelsTheSiblings) {
  VirtualScheduler scheduler;
  Log log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    scope.spawn(works("long", Duration(100), log));
    scope.spawn(fails_after("second", Duration(20)));
    scope.spawn(fails_after("first", Duration(10)));
    co_await scope.join();
  };
  try {
    run(scheduler, body());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
  EXPECT_EQ(log, (Log{"long gone"}));
  EXPECT_EQ(scheduler.now(), Time(Duration(10)));
  EXPECT_EQ(scheduler.waits(), "");
}

TEST(Scope, AnErrorBeforeTheJoinIsKept) {
  VirtualScheduler scheduler;
  Log log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    scope.spawn(fails_after("early", Duration(0)));
    scope.spawn(works("never started", Duration(5), log));
    co_await sleep_for(Duration(50));
    EXPECT_EQ(scope.size(), 0u);
    co_await scope.join();
  };
  try {
    run(scheduler, body());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "early");
  }
  EXPECT_EQ(log, (Log{})) << "a child that had not started must not start";
}

TEST(Scope, TheDestructorCancels) {
  VirtualScheduler scheduler;
  Log log;
  const auto body = [&]() -> Task<> {
    {
      Scope scope(co_await this_context());
      scope.spawn(works("a", Duration(100), log));
      scope.spawn(works("b", Duration(1), log));
      co_await sleep_for(Duration(10));
      log.push_back("leave");
    }
    log.push_back("left");
    EXPECT_EQ(scheduler.waits(), "");
  };
  run(scheduler, body());
  EXPECT_EQ(log, (Log{"b done", "b gone", "leave", "a gone", "left"}));
}

TEST(Scope, CancelReleasesWhoeverJoins) {
  VirtualScheduler scheduler;
  Log log;
  const auto joiner = [&](Scope& scope) -> Task<> {
    co_await scope.join();
    log.push_back("joined");
  };
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    Scope watchers(co_await this_context());
    scope.spawn(works("a", Duration(100), log));
    watchers.spawn(joiner(scope));
    co_await sleep_for(Duration(10));
    scope.cancel();
    co_await watchers.join();
  };
  run(scheduler, body());
  EXPECT_EQ(log, (Log{"a gone", "joined"}));
  EXPECT_EQ(scheduler.now(), Time(Duration(10)));
}

TEST(Scope, JoinUntilLeavesTheChildrenRunning) {
  VirtualScheduler scheduler;
  Log log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    scope.spawn(works("a", Duration(100), log));
    EXPECT_FALSE(co_await scope.join_until(Time(Duration(30))));
    EXPECT_EQ(scheduler.now(), Time(Duration(30)));
    EXPECT_EQ(scope.size(), 1u);
    EXPECT_TRUE(co_await scope.join_until(Time(Duration(1000))));
    EXPECT_EQ(scheduler.now(), Time(Duration(100)));
  };
  run(scheduler, body());
  EXPECT_EQ(log, (Log{"a done", "a gone"}));
}

TEST(Scope, JoinUntilThrowsAnErrorThatComesInTime) {
  VirtualScheduler scheduler;
  const auto body = []() -> Task<> {
    Scope scope(co_await this_context());
    scope.spawn(fails_after("in time", Duration(10)));
    co_await scope.join_until(Time(Duration(30)));
  };
  EXPECT_THROW(run(scheduler, body()), Error);
  EXPECT_EQ(scheduler.now(), Time(Duration(10)));
}

TEST(Scope, WorksOutsideOfTasks) {
  VirtualScheduler scheduler;
  Log log;
  {
    Scope scope(scheduler);
    scope.spawn(works("a", Duration(10), log), "outside");
    scope.spawn(works("b", Duration(90), log));
    run(scheduler, sleep_for(Duration(50)));
    EXPECT_EQ(scope.size(), 1u);
  }
  EXPECT_EQ(log, (Log{"a done", "a gone", "b gone"}));
}

TEST(Scope, ReportsWhoWaitsInside) {
  VirtualScheduler scheduler;
  Event never("a sign");
  const auto waits_for = [](Event& event) -> Task<> { co_await event; };
  const auto body = [&]() -> Task<std::string> {
    Scope scope(co_await this_context());
    Scope other(co_await this_context());
    scope.spawn(waits_for(never), "left");
    scope.spawn(waits_for(never), "right");
    other.spawn(waits_for(never), "not mine");
    co_await sleep_for(std::chrono::microseconds(3));
    co_return scope.waits();
  };
  EXPECT_EQ(run(scheduler, body(), "rank 1"),
            "rank 1/left waits for a sign since 0 s (3 us)\nrank 1/right waits for a sign since 0 s (3 us)");
}

TEST(Scope, ManyShortChildrenAreFreedAsTheyEnd) {
  VirtualScheduler scheduler;
  Log log;
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    for (int i = 0; i < 1000; ++i) {
      scope.spawn(works("x", Duration(1), log));
      co_await scope.join();
    }
  };
  run(scheduler, body());
  EXPECT_EQ(log.size(), 2000u);
}

}  // namespace
}  // namespace starling::runtime
