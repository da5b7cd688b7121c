#include "starling/runtime/timer_heap.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>
#include <vector>

#include "starling/core/random.h"
#include "starling/runtime/virtual_scheduler.h"

namespace starling::runtime {
namespace {

// A wakeup's keys are given by a scheduler, so the heap is tried through one.
struct Recorder : Wakeup {
  Recorder(int number, std::vector<int>& log) : Wakeup(&Recorder::run), id(number), order(log) {}
  static void run(Wakeup& self) {
    auto& recorder = static_cast<Recorder&>(self);
    recorder.order.push_back(recorder.id);
  }
  int id;
  std::vector<int>& order;
};

void drive_until(VirtualScheduler& scheduler, const std::vector<int>& ran, std::size_t count) {
  struct Goal {
    const std::vector<int>& ran;
    std::size_t count;
  } goal{ran, count};
  scheduler.drive([](void* g) { return static_cast<Goal*>(g)->ran.size() >= static_cast<Goal*>(g)->count; },
                  &goal);
}

TEST(TimerHeap, StartsEmpty) {
  TimerHeap heap;
  EXPECT_TRUE(heap.empty());
  EXPECT_EQ(heap.size(), 0u);
}

TEST(TimerHeap, RunsByTimeThenByTheOrderOfQueueing) {
  std::vector<int> ran;
  VirtualScheduler scheduler;
  Recorder a(1, ran), b(2, ran), c(3, ran), d(4, ran);
  scheduler.at(Time(Duration(20)), a);
  scheduler.at(Time(Duration(10)), b);
  scheduler.at(Time(Duration(20)), c);
  scheduler.at(Time(Duration(10)), d);
  drive_until(scheduler, ran, 4);
  EXPECT_EQ(ran, (std::vector<int>{2, 4, 1, 3}));
}

TEST(TimerHeap, AQueuedWakeupMoves) {
  std::vector<int> ran;
  VirtualScheduler scheduler;
  Recorder a(1, ran), b(2, ran);
  scheduler.at(Time(Duration(10)), a);
  scheduler.at(Time(Duration(20)), b);
  scheduler.at(Time(Duration(30)), a);
  drive_until(scheduler, ran, 2);
  EXPECT_EQ(ran, (std::vector<int>{2, 1}));
  EXPECT_EQ(scheduler.now(), Time(Duration(30)));
}

// Random pushes, moves and removals next to a multimap, which keeps the order of equal keys.
void compare_with_multimap(std::uint64_t seed) {
  Random random(seed);
  std::vector<int> ran;
  VirtualScheduler scheduler;
  std::deque<Recorder> wakeups;
  std::multimap<std::int64_t, int> model;
  const auto forget = [&](int id) {
    std::erase_if(model, [&](const auto& entry) { return entry.second == id; });
  };
  for (int step = 0; step < 600; ++step) {
    if (wakeups.empty() || random.chance(0.6)) {
      wakeups.emplace_back(static_cast<int>(wakeups.size()), ran);
    }
    Recorder& chosen =
        random.chance(0.5) ? wakeups.back() : wakeups[static_cast<std::size_t>(random.below(wakeups.size()))];
    forget(chosen.id);
    if (random.chance(0.35)) {
      chosen.cancel();
      ASSERT_FALSE(chosen.queued());
    } else {
      const auto time = static_cast<std::int64_t>(random.below(100));
      scheduler.at(Time(Duration(time)), chosen);
      model.emplace(time, chosen.id);
    }
  }
  std::vector<int> expected;
  for (const auto& entry : model) expected.push_back(entry.second);
  ASSERT_GT(expected.size(), 50u);
  drive_until(scheduler, ran, expected.size());
  ASSERT_EQ(ran, expected) << "seed " << seed;
  for (const Recorder& wakeup : wakeups) ASSERT_FALSE(wakeup.queued());
}

TEST(TimerHeap, AgreesWithAMultimap) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) compare_with_multimap(seed);
}

TEST(TimerHeap, ADyingWakeupLeaves) {
  std::vector<int> ran;
  VirtualScheduler scheduler;
  std::deque<Recorder> wakeups;
  for (int i = 0; i < 40; ++i) {
    wakeups.emplace_back(i, ran);
    scheduler.at(Time(Duration((i * 7) % 40)), wakeups.back());
  }
  for (int i = 0; i < 20; ++i) wakeups.pop_back();
  drive_until(scheduler, ran, 20);
  EXPECT_EQ(std::set<int>(ran.begin(), ran.end()).size(), 20u);
  for (const int id : ran) EXPECT_LT(id, 20);
}

}  // namespace
}  // namespace starling::runtime
