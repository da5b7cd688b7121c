#include "starling/cluster/speed_profile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "starling/core/random.h"

namespace starling::cluster {
namespace {

using namespace std::chrono_literals;

Fault slow(Duration from, Duration to, double factor) {
  return {.from = Time(from), .to = Time(to), .factor = factor};
}

Fault pause(Duration from, Duration to) {
  return {.kind = Fault::Kind::kPause, .from = Time(from), .to = Time(to)};
}

TEST(SpeedProfile, OnlyTheSpeedCountsWithoutFaults) {
  const SpeedProfile pace(0.5, {});
  EXPECT_EQ(pace.finish(Time(3s), 1), Time(5s));
  EXPECT_EQ(pace.finish(Time(3s), 0), Time(3s));
  EXPECT_EQ(SpeedProfile(3, {}).finish(Time{}, 1), Time(333333333ns));
  EXPECT_EQ(SpeedProfile(3, {}).finish(Time{}, 2), Time(666666667ns));
}

TEST(SpeedProfile, WorkCrossesSlowdowns) {
  const std::vector<Fault> faults{slow(10s, 20s, 4)};
  const SpeedProfile pace(1, faults);
  EXPECT_EQ(pace.finish(Time{}, 10), Time(10s));
  EXPECT_EQ(pace.finish(Time(9s), 2), Time(14s));
  EXPECT_EQ(pace.finish(Time(10s), 1), Time(14s));
  EXPECT_EQ(pace.finish(Time(18s), 1), Time(20500ms));
  EXPECT_EQ(pace.finish(Time{}, 20), Time(27500ms));
  EXPECT_EQ(pace.finish(Time(20s), 1), Time(21s));
}

TEST(SpeedProfile, OverlappingSlowdownsMultiply) {
  const std::vector<Fault> faults{slow(0s, 8s, 2), slow(4s, 12s, 4)};
  EXPECT_EQ(SpeedProfile(1, faults).finish(Time{}, 2.5), Time(8s));
  EXPECT_EQ(SpeedProfile(2, faults).finish(Time{}, 7), Time(12s));
}

TEST(SpeedProfile, NothingIsDoneInAPause) {
  const std::vector<Fault> faults{pause(5s, 8s), slow(6s, 10s, 2)};
  const SpeedProfile pace(1, faults);
  EXPECT_EQ(pace.finish(Time(4s), 1), Time(5s));
  EXPECT_EQ(pace.finish(Time(4s), 2), Time(10s));
  EXPECT_EQ(pace.finish(Time(7s), 1e-9), Time(8s + 2ns));
  EXPECT_EQ(pace.finish(Time(7s), 0), Time(7s));
}

TEST(SpeedProfile, SomeWorkNeverEnds) {
  const std::vector<Fault> faults{pause(5s, kForever)};
  const SpeedProfile pace(1, faults);
  EXPECT_EQ(pace.finish(Time(4s), 1), Time(5s));
  EXPECT_EQ(pace.finish(Time(4s), 1.1), Time(kForever));
  EXPECT_EQ(pace.finish(Time(6s), 1e-9), Time(kForever));
  const std::vector<Fault> always{pause(0s, kForever)};
  EXPECT_EQ(SpeedProfile(1, always).finish(Time{}, 1), Time(kForever));
  EXPECT_EQ(SpeedProfile(1e-6, {}).finish(Time{}, 1e300), Time(kForever));
}

TEST(SpeedProfile, TakesItsWorkersFaultsFromTheCluster) {
  Cluster cluster = even_cluster(2, 2, {}, {}, {});
  cluster.workers[1].speed = 2;
  cluster.faults = {slow(0s, 1s, 2),
                    {.kind = Fault::Kind::kLink, .subject = 1, .factor = 10},
                    {.kind = Fault::Kind::kKill, .subject = 1, .from = Time(1s)}};
  EXPECT_EQ(SpeedProfile(cluster, 0).finish(Time{}, 1), Time(1500ms));
  EXPECT_EQ(SpeedProfile(cluster, 1).finish(Time{}, 4), Time(2s));
}

std::vector<Fault> random_faults(Random& random) {
  std::vector<Fault> faults;
  for (int i = random.between(0, 5); i > 0; --i) {
    const Duration from = random.between(0, 100) * 10ms;
    const Duration to = from + random.between(1, 40) * 10ms;
    faults.push_back(random.chance(0.3) ? pause(from, to) : slow(from, to, 0.5 + 4 * random.uniform()));
  }
  return faults;
}

// Steps of a millisecond, in which the rate does not change: all faults begin and end at whole ones.
Time finish_by_steps(double speed, const std::vector<Fault>& faults, Time start, double work) {
  for (Time now = start;; now += 1ms) {
    double rate = speed;
    for (const Fault& fault : faults) {
      if (now < fault.from || now >= fault.to) continue;
      rate = fault.kind == Fault::Kind::kPause ? 0 : rate / fault.factor;
    }
    if (rate * 1e-3 >= work) return now + Duration(std::llround(work / rate * 1e9));
    work -= rate * 1e-3;
  }
}

TEST(SpeedProfile, AgreesWithSmallSteps) {
  Random random(11);
  for (int round = 0; round < 500; ++round) {
    const double speed = 0.25 + 2 * random.uniform();
    const std::vector<Fault> faults = random_faults(random);
    const SpeedProfile pace(speed, faults);
    for (int i = 0; i < 5; ++i) {
      const Time start(random.between(0, 1500) * 1ms);
      const double work = 0.5 * random.uniform();
      const Duration difference = pace.finish(start, work) - finish_by_steps(speed, faults, start, work);
      ASSERT_LE(std::abs(difference.count()), 2) << "round " << round;
    }
  }
}

TEST(SpeedProfile, WhoStartsLaterDoesNotFinishEarlier) {
  Random random(12);
  for (int round = 0; round < 200; ++round) {
    const std::vector<Fault> faults = random_faults(random);
    const SpeedProfile pace(1, faults);
    Time previous{};
    for (int i = 0; i < 100; ++i) {
      const Time end = pace.finish(Time(i * 13ms), 0.1);
      ASSERT_GE(end, previous - 1ns);
      previous = end;
    }
  }
}

}  // namespace
}  // namespace starling::cluster
