#include "starling/sim/quadratic.h"

#include <gtest/gtest.h>

#include "starling/core/error.h"
#include "tests/sim/training.h"

namespace starling::sim {
namespace {

WorkloadSetting setting_of(std::size_t parameters, double noise) {
  WorkloadSetting setting;
  setting.parameters = parameters;
  setting.noise = noise;
  return setting;
}

TEST(Quadratic, HasConditionNumberTen) {
  const Quadratic work(setting_of(11, 0));
  const std::span<const float> h = work.curvature();
  EXPECT_FLOAT_EQ(h.front(), 0.1F);
  EXPECT_FLOAT_EQ(h.back(), 1);
  for (std::size_t j = 1; j < h.size(); ++j) EXPECT_NEAR(h[j] / h[j - 1], std::pow(10, 0.1), 1e-6);
  EXPECT_EQ(Quadratic(setting_of(1, 0)).curvature()[0], 1);
}

TEST(Quadratic, IsZeroAtItsOptimum) {
  const Quadratic work(setting_of(100, 0));
  const std::vector<float> optimum(work.optimum().begin(), work.optimum().end());
  EXPECT_EQ(work.evaluate(optimum).loss, 0);
  EXPECT_FALSE(work.evaluate(optimum).accuracy);
  for (const float slope : gradient_at(work, optimum).values) EXPECT_EQ(slope, 0);
}

TEST(Quadratic, GradientMeetsFiniteDifferences) {
  const Quadratic work(setting_of(50, 0));
  EXPECT_LT(gradient_error(work, random_model(work, 1)), 1e-6);
}

TEST(Quadratic, ReturnsTheExactLossInSpiteOfNoise) {
  const Quadratic work(setting_of(100, 5));
  const std::vector<float> x = random_model(work, 1);
  EXPECT_EQ(gradient_at(work, x).loss, work.evaluate(x).loss);
}

// (1 - h)^n is what each step of length 1 leaves of the distance.
TEST(Quadratic, DescendsAsComputed) {
  const Quadratic work(setting_of(100, 0));
  EXPECT_EQ(initial(work), std::vector<float>(100));
  const std::vector<float> x = train(work, 1, 20, 1);
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double left = std::pow(1 - work.curvature()[j], 20) * work.optimum()[j];
    EXPECT_NEAR(work.optimum()[j] - x[j], left, 1e-5);
  }
}

TEST(Quadratic, NoiseShrinksWithTheBatch) {
  const Quadratic work(setting_of(100000, 3));
  EXPECT_EQ(work.batch(), 32u);
  const std::vector<float> x(work.optimum().begin(), work.optimum().end());
  for (const std::size_t samples : {1u, 4u, 32u}) {
    std::vector<float> gradient(x.size());
    Random random(4);
    work.gradient(0, x, gradient, samples, random);
    double squares = 0;
    for (const float value : gradient) squares += static_cast<double>(value) * value;
    EXPECT_NEAR(squares / 1e5, 9.0 / static_cast<double>(samples), 0.2 / static_cast<double>(samples));
  }
}

TEST(Quadratic, DrawsNothingWithoutNoise) {
  const Quadratic work(setting_of(10, 0));
  const std::vector<float> x = initial(work);
  std::vector<float> gradient(x.size());
  Random random(5), untouched(5);
  work.gradient(0, x, gradient, 1, random);
  EXPECT_EQ(random.next(), untouched.next());
}

TEST(Quadratic, SameSeedSameBits) {
  WorkloadSetting setting = setting_of(100, 1);
  const Quadratic a(setting), b(setting);
  EXPECT_EQ(train(a, 1, 50, 0.1), train(b, 1, 50, 0.1));
  setting.seed = 2;
  EXPECT_NE(train(a, 1, 50, 0.1), train(Quadratic(setting), 1, 50, 0.1));
}

TEST(Quadratic, RefusesOtherSizes) {
  const Quadratic work(setting_of(10, 1));
  std::vector<float> x(10), gradient(9);
  Random random(6);
  EXPECT_THROW(work.gradient(0, x, gradient, 1, random), InvalidArgument);
  EXPECT_THROW(work.gradient(0, x, x, 0, random), InvalidArgument);
  EXPECT_THROW(work.evaluate(gradient), InvalidArgument);
}

}  // namespace
}  // namespace starling::sim
