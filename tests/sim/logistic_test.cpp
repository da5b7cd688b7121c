#include "starling/sim/logistic.h"

#include <gtest/gtest.h>

#include "starling/core/error.h"
#include "tests/sim/training.h"

namespace starling::sim {
namespace {

TEST(Logistic, StartsAtLogTwo) {
  const Logistic work(setting_for(1));
  const std::vector<float> x = initial(work);
  EXPECT_EQ(work.batch(), 16u);
  EXPECT_EQ(work.parameters(), 100u);
  EXPECT_NEAR(work.evaluate(x).loss, std::log(2), 1e-12);
  EXPECT_NEAR(gradient_at(work, x).loss, std::log(2), 1e-12);
}

TEST(Logistic, GradientMeetsFiniteDifferences) {
  const Logistic work(setting_for(1));
  EXPECT_LT(gradient_error(work, random_model(work, 0.1)), 1e-6);
  EXPECT_LT(gradient_error(work, random_model(work, 3)), 1e-6);  // margins far on either side
}

// 5 % of the labels are wrong, so about 95 % is what can be reached.
TEST(Logistic, SgdLearns) {
  const Logistic work(setting_for(4));
  const Evaluation reached = work.evaluate(train(work, 4, 2000, 0.05));
  EXPECT_LT(reached.loss, 0.3);
  EXPECT_GT(reached.accuracy.value(), 0.90);
}

TEST(Logistic, SurvivesHugeModels) {
  const Logistic work(setting_for(1));
  const std::vector<float> x(work.parameters(), 1e6F);
  EXPECT_TRUE(std::isfinite(work.evaluate(x).loss));
  EXPECT_TRUE(std::isfinite(gradient_at(work, x).loss));
}

TEST(Logistic, SameSeedSameBits) {
  WorkloadSetting setting = setting_for(2);
  const Logistic a(setting), b(setting);
  EXPECT_EQ(train(a, 2, 50, 0.1), train(b, 2, 50, 0.1));
  setting.seed = 2;
  EXPECT_NE(train(a, 2, 50, 0.1), train(Logistic(setting), 2, 50, 0.1));
}

TEST(Logistic, WorkersHaveTheirOwnData) {
  const Logistic work(setting_for(3000));
  EXPECT_EQ(work.shards().samples(), 3000u);
  const std::vector<float> x = initial(work);
  EXPECT_EQ(gradient_at(work, x, 1, 7).values, gradient_at(work, x, 2, 7).values);  // one sample
  EXPECT_NE(gradient_at(work, x, 1, 7).values, gradient_at(work, x, 1, 8).values);
  EXPECT_THROW(gradient_at(work, x, 1, 3000), InvalidArgument);
}

TEST(Logistic, RefusesDataLargerThanMemory) {
  WorkloadSetting setting;
  setting.parameters = 1000000;
  EXPECT_THROW(Logistic{setting}, InvalidArgument);
}

}  // namespace
}  // namespace starling::sim
