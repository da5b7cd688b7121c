#include "starling/runtime/when.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/event.h"
#include "starling/runtime/run.h"
#include "starling/runtime/virtual_scheduler.h"

namespace starling::runtime {
namespace {

Task<int> later(int value, Duration time) {
  co_await sleep_for(time);
  co_return value;
}

Task<int> fails_later(std::string text, Duration time) {
  co_await sleep_for(time);
  throw Error(text);
}

Task<> notes(int id, Duration time, std::vector<int>& log) {
  co_await sleep_for(time);
  log.push_back(id);
}

Task<> fails_without_value(std::string text, Duration time) { co_await fails_later(std::move(text), time); }

template <class Body>
std::string error_of(VirtualScheduler& scheduler, Body body) {
  try {
    run(scheduler, body());
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(WhenAll, ReturnsTheValuesInTheOrderOfTheTasks) {
  VirtualScheduler scheduler;
  const auto body = []() -> Task<std::vector<int>> {
    std::vector<Task<int>> tasks;
    tasks.push_back(later(1, Duration(30)));
    tasks.push_back(later(2, Duration(10)));
    tasks.push_back(later(3, Duration(20)));
    return when_all(std::move(tasks));
  };
  EXPECT_EQ(run(scheduler, body()), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(scheduler.now(), Time(Duration(30))) << "they run at the same time";
}

TEST(WhenAll, TakesMoveOnlyValues) {
  VirtualScheduler scheduler;
  const auto boxed = [](int value) -> Task<std::unique_ptr<int>> {
    co_await yield();
    co_return std::make_unique<int>(value);
  };
  std::vector<Task<std::unique_ptr<int>>> tasks;
  tasks.push_back(boxed(1));
  tasks.push_back(boxed(2));
  const auto values = run(scheduler, when_all(std::move(tasks)));
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(*values[1], 2);
}

TEST(WhenAll, TheFirstFailureIsThrownAndCancelsTheRest) {
  VirtualScheduler scheduler;
  std::vector<int> log;
  const auto body = [&] {
    return when_all(notes(1, Duration(5), log), fails_without_value("late", Duration(20)),
                    fails_without_value("early", Duration(10)), notes(2, Duration(15), log));
  };
  EXPECT_EQ(error_of(scheduler, body), "early");
  EXPECT_EQ(log, (std::vector<int>{1}));
  EXPECT_EQ(scheduler.now(), Time(Duration(10)));
  EXPECT_EQ(scheduler.waits(), "");
}

TEST(WhenAll, OfNothingIsDoneAtOnce) {
  VirtualScheduler scheduler;
  run(scheduler, when_all(std::vector<Task<>>()));
  EXPECT_TRUE(run(scheduler, when_all(std::vector<Task<int>>())).empty());
  EXPECT_EQ(scheduler.now(), Time());
}

TEST(WhenAny, ReturnsTheFirstAndCancelsTheOthers) {
  VirtualScheduler scheduler;
  std::vector<int> log;
  EXPECT_EQ(run(scheduler, when_any(notes(0, Duration(30), log), notes(1, Duration(10), log),
                                    notes(2, Duration(20), log))),
            1u);
  EXPECT_EQ(log, (std::vector<int>{1}));
  EXPECT_EQ(scheduler.now(), Time(Duration(10)));
  EXPECT_EQ(scheduler.waits(), "");
}

// All three are due at once; whichever runs first, the two others must not run any more.
TEST(WhenAny, CancelsInTheSameInstant) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    VirtualScheduler scheduler(seed);
    std::vector<int> log;
    const std::size_t winner =
        run(scheduler,
            when_any(notes(0, Duration(10), log), notes(1, Duration(10), log), notes(2, Duration(10), log)));
    ASSERT_EQ(log, (std::vector<int>{static_cast<int>(winner)})) << "seed " << seed;
  }
}

TEST(WhenAny, CancelsThoseThatWereWokenAlready) {
  VirtualScheduler scheduler;
  Event go;
  std::vector<int> log;
  const auto waits = [&](int id) -> Task<> {
    co_await go;
    log.push_back(id);
  };
  const auto starter = [&]() -> Task<> {
    co_await sleep_for(Duration(5));
    go.set();
  };
  const auto body = [&]() -> Task<std::size_t> {
    Scope scope(co_await this_context());
    scope.spawn(starter());
    co_return co_await when_any(waits(0), waits(1));
  };
  EXPECT_EQ(run(scheduler, body()), 0u);
  EXPECT_EQ(log, (std::vector<int>{0}));
}

TEST(WhenAny, AnErrorOfTheFirstIsThrown) {
  VirtualScheduler scheduler;
  std::vector<int> log;
  EXPECT_EQ(
      error_of(scheduler,
               [&] { return when_any(notes(0, Duration(30), log), fails_without_value("x", Duration(10))); }),
      "x");
  EXPECT_TRUE(log.empty());
}

TEST(WhenAny, AnErrorAfterTheFirstIsNotSeen) {
  VirtualScheduler scheduler;
  std::vector<int> log;
  EXPECT_EQ(run(scheduler, when_any(fails_without_value("x", Duration(30)), notes(1, Duration(10), log))),
            1u);
}

TEST(WhenAny, ATaskThatEndsAtOnceWins) {
  VirtualScheduler scheduler;
  const auto at_once = []() -> Task<> { co_return; };
  std::vector<int> log;
  EXPECT_EQ(run(scheduler, when_any(notes(0, Duration(0), log), at_once())), 1u);
  EXPECT_TRUE(log.empty());
}

}  // namespace
}  // namespace starling::runtime
