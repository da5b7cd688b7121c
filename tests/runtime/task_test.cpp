#include "starling/runtime/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/event.h"
#include "starling/runtime/run.h"
#include "starling/runtime/virtual_scheduler.h"

namespace starling::runtime {
namespace {

Task<int> answer(bool& started) {
  started = true;
  co_return 42;
}

TEST(Task, IsLazy) {
  bool started = false;
  {
    const Task<int> task = answer(started);
    EXPECT_TRUE(task.valid());
    EXPECT_FALSE(task.done());
  }
  EXPECT_FALSE(started);
  VirtualScheduler scheduler;
  EXPECT_EQ(run(scheduler, answer(started)), 42);
  EXPECT_TRUE(started);
}

TEST(Task, MovesLeaveAnEmptyTask) {
  bool started = false;
  Task<int> first = answer(started);
  Task<int> second = std::move(first);
  EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(second.valid());
  second = Task<int>();
  EXPECT_FALSE(second.valid());
}

Task<std::unique_ptr<int>> boxed(int value) {
  co_await yield();
  co_return std::make_unique<int>(value);
}

Task<int> unbox() {
  const std::unique_ptr<int> first = co_await boxed(3);
  Task<std::unique_ptr<int>> later = boxed(4);
  co_return *first** co_await later;
}

TEST(Task, ResultsMayBeMoveOnly) {
  VirtualScheduler scheduler;
  EXPECT_EQ(run(scheduler, unbox()), 12);
}

Task<int> fails(bool at_once) {
  if (!at_once) co_await sleep_for(Duration(5));
  throw Error("broken");
}

Task<std::string> catches(bool at_once) {
  try {
    co_await fails(at_once);
  } catch (const Error& error) {
    co_return concat("caught ", error.what());
  }
  co_return "nothing thrown";
}

Task<int> passes_on(bool at_once) { co_return 1 + co_await fails(at_once); }

TEST(Task, ExceptionsReachTheAwaiter) {
  for (const bool at_once : {true, false}) {
    VirtualScheduler scheduler;
    EXPECT_EQ(run(scheduler, catches(at_once)), "caught broken");
    EXPECT_THROW(run(scheduler, passes_on(at_once)), Error);
  }
}

Task<int> one() { co_return 1; }

Task<int> sum_of_ones(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += co_await one();
  co_return sum;
}

// With a frame of the stack per task, this would need far more than the usual 8 MiB.
TEST(Task, TasksThatFinishAtOnceDoNotGrowTheStack) {
  VirtualScheduler scheduler;
  EXPECT_EQ(run(scheduler, sum_of_ones(1'000'000)), 1'000'000);
}

Task<int> sum_of_yields(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    co_await yield();
    sum += co_await one();
  }
  co_return sum;
}

TEST(Task, TasksThatWaitDoNotGrowTheStack) {
  VirtualScheduler scheduler;
  EXPECT_EQ(run(scheduler, sum_of_yields(300'000)), 300'000);
}

Task<int> depth(int levels, Event& start) {
  if (levels == 0) {
    co_await start;
    co_return 0;
  }
  co_return 1 + co_await depth(levels - 1, start);
}

Task<int> nested(int levels) {
  Event start;
  Task<int> chain = depth(levels, start);
  start.set();
  co_return co_await chain;
}

Task<> release(Event& start) {
  co_await sleep_for(Duration(10));
  start.set();
}

Task<int> nested_and_waiting(int levels) {
  Event start;
  Scope scope(co_await this_context());
  scope.spawn(release(start));
  co_return co_await depth(levels, start);
}

TEST(Task, Nests) {
  VirtualScheduler scheduler;
  EXPECT_EQ(run(scheduler, nested(1000)), 1000);
  EXPECT_EQ(run(scheduler, nested_and_waiting(1000)), 1000);
}

Task<std::string> name_inside() {
  const Context& context = co_await this_context();
  co_return context.path();
}

Task<std::string> name_of_caller() {
  co_await yield();
  co_return co_await name_inside();
}

TEST(Task, InheritsTheContextOfItsAwaiter) {
  VirtualScheduler scheduler;
  EXPECT_EQ(run(scheduler, name_of_caller(), "rank 3"), "rank 3");
}

struct SetAtExit {
  ~SetAtExit() { event.set(); }
  Event& event;
};

Task<> await_event(Event& event) { co_await event; }

Task<> wakes_its_own_wait_when_destroyed() {
  Event event("something");
  Task<> inner = await_event(event);
  const SetAtExit guard{event};  // destroyed before `inner`
  co_await inner;
}

// The frame is destroyed while its context is still there.
TEST(Task, RunDestroysATaskThatIsStuck) {
  VirtualScheduler scheduler;
  EXPECT_THROW(run(scheduler, wakes_its_own_wait_when_destroyed()), Deadlock);
  EXPECT_EQ(scheduler.waits(), "");
}

}  // namespace
}  // namespace starling::runtime
