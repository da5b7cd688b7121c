#include "starling/optim/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "starling/core/error.h"
#include "tests/optim/layerwise_values.h"

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

// Its steps count from 0, and the last of its 10 steps of warm-up has the full rate.
TEST(Schedule, PolynomialIsThatOfMlperf) {
  const Schedule schedule{
      .kind = ScheduleKind::kPolynomial, .rate = 10, .warmup = 9, .steps = 100, .end_rate = 1e-4};
  const std::vector<double> rates = testing::mlperf_rates();
  ASSERT_EQ(rates.size(), 100U);
  for (std::size_t step = 1; step <= rates.size(); ++step)
    EXPECT_NEAR(schedule.at(step), rates[step - 1], 1e-12) << step;
  EXPECT_NEAR(schedule.at(1), 1, 1e-9);
  EXPECT_NEAR(schedule.at(10), 10, 1e-9);
  EXPECT_NEAR(schedule.at(11), 9.781429550, 1e-9);
  EXPECT_NEAR(schedule.at(50), 3.140993600, 1e-9);
  EXPECT_NEAR(schedule.at(99), .004930286, 1e-9);
  EXPECT_NEAR(schedule.at(100), .001307572, 1e-9);
  EXPECT_NEAR(schedule.at(101), 1e-4, 1e-12);
  EXPECT_NEAR(schedule.at(1000), 1e-4, 1e-12);
}

TEST(Schedule, PolynomialWithoutWarmUpIsThatOfTorch) {
  const Schedule schedule{.kind = ScheduleKind::kPolynomial, .rate = 0.3, .steps = 20, .power = 1.5};
  const std::vector<double> rates = testing::torch_polynomial_rates();
  ASSERT_EQ(rates.size(), 20U);
  for (std::size_t step = 1; step <= rates.size(); ++step)
    EXPECT_NEAR(schedule.at(step), rates[step - 1], 1e-12) << step;
}

std::string warmup_refusal(std::string_view text) {
  try {
    parse_warmup(text, "--warmup");
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(WarmUp, IsInStepsOrEpochs) {
  EXPECT_EQ(parse_warmup("200", "x"), (WarmUp{.steps = 200}));
  EXPECT_EQ(parse_warmup("5epochs", "x"), (WarmUp{.epochs = 5}));
  EXPECT_EQ(parse_warmup("200", "x").length(30), 200U);
  EXPECT_EQ(parse_warmup("5epochs", "x").length(30), 150U);
  EXPECT_EQ(parse_warmup("0.25epochs", "x").length(30), 8U);
  for (const char* text : {"0", "200", "5epochs", "0.5epochs"})
    EXPECT_EQ(text_of(parse_warmup(text, "x")), text);
  for (const char* text :
       {"", "epochs", "5 epochs", "5min", "-1", "-1epochs", "1.5", "1e10", "nan", "1000000epochs"})
    EXPECT_EQ(warmup_refusal(text), concat("--warmup: '", text,
                                           "'; allowed: a number of steps from 0 to 1000000000, "
                                           "or of epochs from 0 to 100000, as in 5epochs"));
}

TEST(Schedule, NamesAreReadAndOthersRefused) {
  for (const ScheduleKind kind :
       {ScheduleKind::kConstant, ScheduleKind::kStep, ScheduleKind::kCosine, ScheduleKind::kPolynomial}) {
    EXPECT_EQ(parse_schedule(name_of(kind), "x"), kind);
  }
  try {
    parse_schedule("linear", "--lr-schedule");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "--lr-schedule: unknown schedule 'linear'; allowed: constant, step, cosine, polynomial");
  }
}

}  // namespace
}  // namespace starling::optim
