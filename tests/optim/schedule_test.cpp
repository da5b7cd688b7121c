#include "starling/optim/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "starling/core/error.h"

namespace starling::optim {
namespace {

using ScheduleKind = Schedule::Kind;

TEST(Schedule, WarmUpGrowsLinearlyAndNeverIsZero) {
  const Schedule schedule{.kind = ScheduleKind::kConstant, .rate = 1, .warmup = 4, .steps = 10};
  EXPECT_DOUBLE_EQ(schedule.at(1), 0.2);
  EXPECT_DOUBLE_EQ(schedule.at(4), 0.8);
  EXPECT_DOUBLE_EQ(schedule.at(5), 1);
  EXPECT_DOUBLE_EQ(schedule.at(10), 1);
}

TEST(Schedule, StepFallsAtHalfAndThreeQuarters) {
  const Schedule schedule{.kind = ScheduleKind::kStep, .rate = 1, .warmup = 0, .steps = 8};
  EXPECT_DOUBLE_EQ(schedule.at(4), 1);
  EXPECT_DOUBLE_EQ(schedule.at(5), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(6), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(7), 0.01);
}

// Of four workers that share 400 batches by demand, a fast one makes more than 100 steps.
TEST(Schedule, TheDataTellsHowFarAFastWorkerIs) {
  const Schedule schedule{.kind = ScheduleKind::kCosine, .rate = 1, .warmup = 0, .steps = 100};
  EXPECT_EQ(schedule.at(130), 0);
  EXPECT_EQ(step_at_batch(0, 4), 1U);
  EXPECT_EQ(step_at_batch(3, 4), 1U);
  EXPECT_EQ(step_at_batch(200, 4), 51U);
  EXPECT_EQ(step_at_batch(399, 4), 100U);
  EXPECT_GT(schedule.at(step_at_batch(399, 4)), 0);
}

TEST(Schedule, CosineFallsFromTheRateTowardsZero) {
  const Schedule schedule{.kind = ScheduleKind::kCosine, .rate = 2, .warmup = 2, .steps = 12};
  EXPECT_DOUBLE_EQ(schedule.at(3), 2);
  EXPECT_NEAR(schedule.at(8), 1, 1e-12);
  for (std::uint64_t step = 4; step <= 12; ++step)
    EXPECT_LT(schedule.at(step), schedule.at(step - 1)) << step;
  EXPECT_GT(schedule.at(12), 0);
  EXPECT_NEAR(schedule.at(1000), 0, 1e-12);
}

TEST(Schedule, NamesAreReadAndOthersRefused) {
  for (const ScheduleKind kind : {ScheduleKind::kConstant, ScheduleKind::kStep, ScheduleKind::kCosine}) {
    EXPECT_EQ(parse_schedule(name_of(kind), "x"), kind);
  }
  try {
    parse_schedule("linear", "--lr-schedule");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "--lr-schedule: unknown schedule 'linear'; allowed: constant, step, cosine");
  }
}

}  // namespace
}  // namespace starling::optim
