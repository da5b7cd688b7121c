#include "starling/runtime/loop_scheduler.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/event.h"
#include "starling/runtime/mailbox.h"
#include "starling/runtime/run.h"

namespace starling::runtime {
namespace {

using namespace std::chrono_literals;

Task<> wait_for(Event& event) { co_await event; }

TEST(LoopScheduler, ItsClockStartsAtZeroAndRuns) {
  LoopScheduler loop;
  const Time first = loop.now();
  EXPECT_GE(first, Time());
  while (loop.now() == first) {
  }
  EXPECT_GT(loop.now(), first);
}

TEST(LoopScheduler, PostsRunOnItsThreadInTheOrderOfEachPoster) {
  constexpr int kPosters = 4, kPosts = 2000;
  LoopScheduler loop;
  Mailbox<std::pair<int, int>> box;
  std::atomic<int> strangers = 0;
  const auto home = std::this_thread::get_id();
  std::vector<std::thread> posters;
  for (int poster = 0; poster < kPosters; ++poster) {
    posters.emplace_back([&, poster] {
      for (int i = 0; i < kPosts; ++i) {
        loop.post([&, poster, i] {
          if (std::this_thread::get_id() != home) ++strangers;
          box.put({poster, i});
        });
      }
    });
  }
  const auto body = [&]() -> Task<> {
    std::vector<int> next(kPosters, 0);
    for (int i = 0; i < kPosters * kPosts; ++i) {
      const auto [poster, number] = co_await box.take();
      EXPECT_EQ(number, next[static_cast<std::size_t>(poster)]++);
    }
  };
  run(loop, body());
  for (auto& poster : posters) poster.join();
  EXPECT_EQ(strangers, 0);
}

// Tells another thread when the loop is about to sleep.
struct ParkWatcher final : Source {
  bool poll() override { return false; }
  void set_parked(bool value) override { times_parked += value ? 1 : 0; }
  bool may_spin() const override { return false; }
  std::atomic<int> times_parked = 0;
};

TEST(LoopScheduler, APostWakesAParkedLoop) {
  LoopScheduler loop;
  ParkWatcher watcher;
  loop.add(watcher);
  Mailbox<int> box;
  constexpr int kRounds = 200;
  std::thread other([&] {
    for (int round = 0; round < kRounds; ++round) {
      while (watcher.times_parked <= round) std::this_thread::yield();
      loop.post([&box, round] { box.put(round); });
    }
  });
  const auto body = [&]() -> Task<> {
    for (int round = 0; round < kRounds; ++round) EXPECT_EQ(co_await box.take(), round);
  };
  run(loop, body());
  other.join();
  loop.remove(watcher);
}

// Two loops that answer each other: every lost wakeup would hang one of them.
TEST(LoopScheduler, NoWakeupIsLost) {
  LoopScheduler::Options no_spin;
  no_spin.spin = Duration(0);
  no_spin.yield = Duration(0);
  LoopScheduler left(no_spin), right(no_spin);
  Mailbox<int> to_left, to_right;
  constexpr int kRounds = 5000;
  std::thread other([&] {
    const auto body = [&]() -> Task<> {
      for (int round = 0; round < kRounds; ++round) {
        const int number = co_await to_right.take();
        left.post([&, number] { to_left.put(number + 1); });
      }
    };
    run(right, body());
  });
  const auto body = [&]() -> Task<> {
    for (int round = 0; round < kRounds; ++round) {
      right.post([&, round] { to_right.put(round); });
      EXPECT_EQ(co_await to_left.take(), round + 1);
    }
  };
  run(left, body());
  other.join();
}

TEST(LoopScheduler, TimersRunInOrder) {
  LoopScheduler loop;
  std::string log;
  const auto writes_at = [&](char letter, Time time) -> Task<> {
    co_await sleep_until(time);
    EXPECT_GE(loop.now(), time);
    log += letter;
  };
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    const Time start = loop.now() + 100ms;  // all are queued before the first is due, on a busy machine too
    scope.spawn(writes_at('d', start + 3ms));
    scope.spawn(writes_at('b', start + 50us));
    scope.spawn(writes_at('c', start + 1ms));
    scope.spawn(writes_at('a', start));
    co_await scope.join();
  };
  run(loop, body());
  EXPECT_EQ(log, "abcd");
}

TEST(LoopScheduler, WatchesDescriptors) {
  LoopScheduler loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Event got("a byte");
  char letter = 0;
  loop.watch(ends[0], [&] {
    EXPECT_EQ(read(ends[0], &letter, 1), 1);
    loop.unwatch(ends[0]);
    got.set();
  });
  std::thread writer([&] { EXPECT_EQ(write(ends[1], "xy", 2), 2); });
  run(loop, wait_for(got));
  writer.join();
  EXPECT_EQ(letter, 'x');
  run(loop, sleep_for(5ms));  // "y" has arrived, but nothing watches any more
  EXPECT_EQ(letter, 'x');
  close(ends[0]);
  close(ends[1]);
}

TEST(LoopScheduler, WatchesDescriptorsWhileBusy) {
  LoopScheduler loop;
  const int bell = eventfd(0, EFD_NONBLOCK);
  ASSERT_GE(bell, 0);
  bool rung = false;
  loop.watch(bell, [&] {
    std::uint64_t count = 0;
    EXPECT_EQ(read(bell, &count, sizeof count), static_cast<ssize_t>(sizeof count));
    EXPECT_EQ(count, 3u);
    rung = true;
  });
  const std::uint64_t three = 3;
  ASSERT_EQ(write(bell, &three, sizeof three), static_cast<ssize_t>(sizeof three));
  const auto body = [&]() -> Task<> {
    while (!rung) co_await yield();  // never idle
  };
  run(loop, body());
  loop.unwatch(bell);
  close(bell);
}

TEST(LoopScheduler, RefusesADescriptorThatIsNone) {
  LoopScheduler loop;
  EXPECT_THROW(loop.watch(-1, [] {}), Error);
}

struct Diary final : Source {
  bool poll() override {
    ++polls;
    polled_since_parking = true;
    if ((polls >= give_at || (parked && gives_when_parked)) && !given) {
      given = true;
      news.set();
      return true;
    }
    return false;
  }
  void set_parked(bool value) override {
    EXPECT_NE(value, parked) << "announced twice";
    EXPECT_TRUE(value || polled_since_parking) << "no look between the announcement and the sleep";
    parked = value;
    polled_since_parking = false;
    if (value) ++times_parked;
  }
  bool may_spin() const override { return spins; }

  Event news{"news"};
  bool spins = true;
  bool gives_when_parked = false;
  long give_at = 1'000'000'000;
  bool given = false;
  bool parked = false;
  bool polled_since_parking = false;
  long polls = 0;
  long times_parked = 0;
};

TEST(LoopScheduler, PollsItsSourcesAndSpinsForThem) {
  LoopScheduler::Options patient;
  patient.spin = 1h;
  LoopScheduler loop(patient);
  Diary diary;
  diary.give_at = 5000;
  loop.add(diary);
  run(loop, wait_for(diary.news));
  loop.remove(diary);
  EXPECT_GE(diary.polls, 5000);
  EXPECT_EQ(diary.times_parked, 0);
}

TEST(LoopScheduler, LooksOnceMoreAfterItAnnouncedToPark) {
  LoopScheduler loop;
  Diary diary;
  diary.spins = false;
  diary.gives_when_parked = true;
  loop.add(diary);
  run(loop, wait_for(diary.news));  // would sleep forever if that look were ignored
  loop.remove(diary);
  EXPECT_EQ(diary.times_parked, 1);
  EXPECT_FALSE(diary.parked);
}

TEST(LoopScheduler, NeverSpinsIfASourceForbidsIt) {
  LoopScheduler::Options patient;
  patient.spin = 1h;
  patient.yield = Duration(0);
  LoopScheduler loop(patient);
  Diary willing, unwilling;
  unwilling.spins = false;
  loop.add(willing);
  loop.add(unwilling);
  run(loop, sleep_for(30ms));
  loop.remove(willing);
  loop.remove(unwilling);
  EXPECT_GE(unwilling.times_parked, 1);
  // Two looks per park and two for the rounds around it; spinning for 30 ms would make tens of thousands.
  EXPECT_LT(unwilling.polls, 100);
}

TEST(LoopScheduler, ARemovedSourceIsNotPolled) {
  LoopScheduler loop;
  Diary diary;
  loop.add(diary);
  loop.remove(diary);
  run(loop, sleep_for(1ms));
  EXPECT_EQ(diary.polls, 0);
}

Duration cpu_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

TEST(LoopScheduler, IsIdleWhileItWaits) {
  LoopScheduler loop;
  const Time start = loop.now();
  const Duration used = cpu_time();
  run(loop, sleep_for(300ms));
  EXPECT_LT(cpu_time() - used, (loop.now() - start) / 50);
}

TEST(LoopScheduler, AStalledWaitIsLoggedWithItsName) {
  LoopScheduler::Options soon;
  soon.stall = 5ms;
  LoopScheduler loop(soon);
  Event never{"the news that never comes"}, told{"a warning"};
  Event idle{"a request", Event::Kind::kRare};
  std::string warning;
  loop.set_log([&](LogLevel, std::string_view text) {
    warning = text;
    told.set();
  });
  const auto hang = [](Event& event) -> Task<> { co_await event; };
  const auto body = [&]() -> Task<> {
    Scope scope(co_await this_context());
    scope.spawn(hang(idle), "a service");
    scope.spawn(hang(never), "worker 3");
    co_await told;
  };
  run(loop, body());
  EXPECT_NE(warning.find("worker 3 waits for the news that never comes"), std::string::npos) << warning;
  EXPECT_EQ(warning.find("a service"), std::string::npos) << warning;
}

}  // namespace
}  // namespace starling::runtime
