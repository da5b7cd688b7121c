#include "starling/cluster/jitter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "starling/core/text.h"
#include "tests/support/refusal.h"

namespace starling::cluster {
namespace {

using testing::refusal;

constexpr int kDraws = 200'000;

std::vector<double> sorted_draws(const char* text) {
  const Jitter jitter = parse_jitter(text, "x");
  Random random(7);
  std::vector<double> draws(kDraws);
  for (double& factor : draws) factor = draw(jitter, random);
  std::sort(draws.begin(), draws.end());
  EXPECT_GT(draws.front(), 0) << text;
  return draws;
}

double mean(const std::vector<double>& draws) {
  double sum = 0;
  for (const double factor : draws) sum += factor;
  return sum / kDraws;
}

double variance(const std::vector<double>& draws) {
  const double center = mean(draws);
  double sum = 0;
  for (const double factor : draws) sum += (factor - center) * (factor - center);
  return sum / kDraws;
}

double quantile(const std::vector<double>& draws, double part) {
  return draws[static_cast<std::size_t>(part * kDraws)];
}

// The bounds are four to eight standard errors of 200,000 draws.

TEST(Jitter, NoneIsAlwaysOne) {
  const auto draws = sorted_draws("none");
  EXPECT_EQ(draws.front(), 1);
  EXPECT_EQ(draws.back(), 1);
}

TEST(Jitter, NormalHasItsMeanVarianceAndQuantiles) {
  const auto draws = sorted_draws("normal:0.1");
  EXPECT_NEAR(mean(draws), 1, 0.001);
  EXPECT_NEAR(variance(draws), 0.01, 0.0002);
  EXPECT_NEAR(quantile(draws, 0.5), 1, 0.002);
  EXPECT_NEAR(quantile(draws, 0.975), 1.196, 0.004);
}

TEST(Jitter, WideNormalIsCutOff) {
  const auto draws = sorted_draws("normal:1");
  EXPECT_EQ(draws.front(), 0.05);
  // P(1 + N < 0.05) = 0.1711
  EXPECT_EQ(quantile(draws, 0.166), 0.05);
  EXPECT_GT(quantile(draws, 0.176), 0.05);
}

TEST(Jitter, LognormalHasMeanOne) {
  const auto draws = sorted_draws("lognormal:0.2");
  EXPECT_NEAR(mean(draws), 1, 0.002);
  EXPECT_NEAR(variance(draws), std::exp(0.04) - 1, 0.0008);
  EXPECT_NEAR(quantile(draws, 0.5), std::exp(-0.02), 0.003);
  EXPECT_NEAR(quantile(draws, 0.9), std::exp(0.2 * 1.2815516 - 0.02), 0.006);
}

TEST(Jitter, ExponentialHasMeanOne) {
  const auto draws = sorted_draws("exponential");
  EXPECT_NEAR(mean(draws), 1, 0.01);
  EXPECT_NEAR(variance(draws), 1, 0.04);
  EXPECT_NEAR(quantile(draws, 0.5), std::log(2), 0.01);
  EXPECT_NEAR(quantile(draws, 0.99), std::log(100), 0.1);
}

TEST(Jitter, ParetoHasMeanOneAndAHeavyTail) {
  const auto draws = sorted_draws("pareto:2.5");
  EXPECT_GE(draws.front(), 0.6);
  EXPECT_NEAR(draws.front(), 0.6, 1e-4);
  EXPECT_NEAR(mean(draws), 1, 0.015);
  EXPECT_NEAR(quantile(draws, 0.5), 0.6 * std::pow(2, 0.4), 0.005);
  EXPECT_NEAR(quantile(draws, 0.99), 0.6 * std::pow(100, 0.4), 0.1);
  EXPECT_NEAR(variance(sorted_draws("pareto:6")), 1.0 / 24, 0.004);  // 1 / (a (a - 2))
}

TEST(Jitter, BernoulliDrawsItsFactorThatOften) {
  const auto draws = sorted_draws("bernoulli:0.1:5");
  EXPECT_EQ(draws.front(), 1);
  EXPECT_EQ(draws.back(), 5);
  EXPECT_NEAR(mean(draws), 1.4, 0.015);
  EXPECT_EQ(quantile(draws, 0.895), 1);
  EXPECT_EQ(quantile(draws, 0.905), 5);
}

// Bits, not values that are near: runs must not differ between machines.
TEST(Jitter, DrawsAreTheSameEverywhere) {
  Random random(1);
  EXPECT_EQ(draw(parse_jitter("lognormal:0.5", "x"), random), 0x1.21cf90f82ccap+1);
  EXPECT_EQ(draw(parse_jitter("pareto:1.5", "x"), random), 0x1.2d7ed87be5d54p-1);
}

TEST(Jitter, TextReadsBack) {
  for (const char* text : {"none", "normal:0.1", "lognormal:0", "exponential", "pareto:2.5",
                           "bernoulli:0.1:5", "pareto:1000", "bernoulli:1:1e-06"}) {
    EXPECT_EQ(text_of(parse_jitter(text, "x")), text);
  }
  const Jitter third{Jitter::Kind::kNormal, 1.0 / 3, 0};
  EXPECT_EQ(parse_jitter(text_of(third), "x"), third);
}

TEST(Jitter, RefusesWhatIsNone) {
  for (const char* text :
       {"", "gauss", "none:1", "normal", "normal:", "normal:x", "normal:-0.1", "normal:11", "normal:0.1:2",
        "lognormal:nan", "exponential:1", "pareto:1", "pareto:0.5", "pareto:inf", "bernoulli:0.1",
        "bernoulli:1.5:2", "bernoulli:0.1:0", "Normal:0.1"}) {
    EXPECT_EQ(
        refusal([&] { parse_jitter(text, "--jitter"); }),
        concat("--jitter: '", text,
               "' is not a jitter; allowed: none, normal:SIGMA and lognormal:SIGMA (0 to 10), exponential, "
               "pareto:SHAPE (above 1, to 1000), bernoulli:PROBABILITY:FACTOR (0 to 1; 1e-6 to 1e6)"));
  }
}

}  // namespace
}  // namespace starling::cluster
