#include "starling/sim/ziggurat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace starling::sim {
namespace {

constexpr int kDraws = 1'000'000;

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// Kolmogorov and Smirnov: the largest distance of the distributions, times sqrt(n), exceeds 1.95 once in a
// thousand seeds.
TEST(Ziggurat, FollowsTheBell) {
  const Ziggurat normal;
  Random random(1);
  std::vector<double> drawn(kDraws);
  for (double& value : drawn) value = normal(random);
  std::sort(drawn.begin(), drawn.end());
  double distance = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double expected = normal_distribution(drawn[static_cast<std::size_t>(i)]);
    distance = std::max({distance, std::fabs(expected - static_cast<double>(i) / kDraws),
                         std::fabs(expected - static_cast<double>(i + 1) / kDraws)});
  }
  EXPECT_LT(distance * std::sqrt(kDraws), 1.95);
}

TEST(Ziggurat, HasTheMoments) {
  const Ziggurat normal;
  Random random(2);
  double sum = 0, squares = 0, fourths = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = normal(random);
    sum += value;
    squares += value * value;
    fourths += value * value * value * value;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.004);
  EXPECT_NEAR(squares / kDraws, 1, 0.006);
  EXPECT_NEAR(fourths / kDraws, 3, 0.04);
}

// 3.654 is where the tail has its own method.
TEST(Ziggurat, HasBothTails) {
  const Ziggurat normal;
  Random random(3);
  int below = 0, above = 0, beyond_four = 0;
  for (int i = 0; i < 20 * kDraws; ++i) {
    const double value = normal(random);
    below += value < -3.654;
    above += value > 3.654;
    beyond_four += std::fabs(value) > 4;
  }
  const double expected = 20.0 * kDraws * normal_distribution(-3.654);  // 2582
  EXPECT_NEAR(below, expected, 4 * std::sqrt(expected));
  EXPECT_NEAR(above, expected, 4 * std::sqrt(expected));
  EXPECT_NEAR(beyond_four, 40.0 * kDraws * normal_distribution(-4), 4 * 36);
}

TEST(Ziggurat, SameSeedSameNumbers) {
  const Ziggurat one, other;
  Random a(4), b(4);
  for (int i = 0; i < 10000; ++i) EXPECT_EQ(one(a), other(b));
}

}  // namespace
}  // namespace starling::sim
