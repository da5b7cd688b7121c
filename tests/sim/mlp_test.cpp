#include "starling/sim/mlp.h"

#include <gtest/gtest.h>

#include "starling/core/error.h"
#include "tests/sim/training.h"

namespace starling::sim {
namespace {

TEST(Mlp, SectionsAreItsTensors) {
  const Mlp work(setting_for(1));
  ASSERT_EQ(work.sections().size(), 4u);
  std::size_t next = 0;
  for (const strategy::Section& section : work.sections()) {
    EXPECT_EQ(section.offset, next) << section.name;
    next += section.count;
  }
  EXPECT_EQ(next, 16u * 32 + 32 + 32 * 4 + 4);
  EXPECT_EQ(work.parameters(), next);
  EXPECT_EQ(work.batch(), 16u);
}

TEST(Mlp, GradientMeetsFiniteDifferences) {
  const Mlp work(setting_for(1));
  EXPECT_LT(gradient_error(work, initial(work)), 1e-6);
  EXPECT_LT(gradient_error(work, random_model(work, 0.5)), 1e-6);
}

TEST(Mlp, KnowsNothingAtZero) {
  const Mlp work(setting_for(1));
  const Evaluation nothing = work.evaluate(std::vector<float>(work.parameters()));
  EXPECT_NEAR(nothing.loss, std::log(4), 1e-12);
  EXPECT_EQ(nothing.accuracy, 0.25);
}

TEST(Mlp, SgdLearns) {
  const Mlp work(setting_for(4));
  const Evaluation reached = work.evaluate(train(work, 4, 4000, 0.2));
  EXPECT_LT(reached.loss, 0.2);
  EXPECT_GT(reached.accuracy.value(), 0.93);
}

TEST(Mlp, SameSeedSameBits) {
  WorkloadSetting setting = setting_for(2);
  const Mlp a(setting), b(setting);
  EXPECT_EQ(train(a, 2, 50, 0.1), train(b, 2, 50, 0.1));
  EXPECT_NE(initial(a, 1), initial(a, 2));
  setting.seed = 2;
  EXPECT_NE(train(a, 2, 50, 0.1), train(Mlp(setting), 2, 50, 0.1));
}

TEST(Mlp, WorkersHaveTheirOwnData) {
  const Mlp work(setting_for(1024));
  const std::vector<float> x = initial(work);
  EXPECT_EQ(gradient_at(work, x, 1, 7).values, gradient_at(work, x, 2, 7).values);  // one sample
  EXPECT_NE(gradient_at(work, x, 1, 7).values, gradient_at(work, x, 1, 8).values);
  EXPECT_THROW(gradient_at(work, x, 1, 1024), InvalidArgument);
}

TEST(Mlp, DivergedModelsGiveNoCrash) {
  const Mlp work(setting_for(1));
  EXPECT_TRUE(std::isnan(work.evaluate(std::vector<float>(work.parameters(), NAN)).loss));
  EXPECT_TRUE(std::isfinite(work.evaluate(std::vector<float>(work.parameters(), 1e30F)).loss));
}

}  // namespace
}  // namespace starling::sim
