#include "starling/core/elementary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "starling/core/random.h"

namespace starling {
namespace {

constexpr double kBound = 0x1p-50;

TEST(Elementary, LogarithmMeetsTheLibrary) {
  Random random(1);
  for (int i = 0; i < 100000; ++i) {
    const double x = std::ldexp(0.5 + random.uniform(), random.between(-1000, 1000));
    EXPECT_NEAR(natural_log(x), std::log(x), kBound * std::fabs(std::log(x)));
  }
  EXPECT_EQ(natural_log(1), 0);
}

TEST(Elementary, ExponentialMeetsTheLibrary) {
  Random random(2);
  for (int i = 0; i < 100000; ++i) {
    const double x = -708 + 1417 * random.uniform();
    EXPECT_NEAR(natural_exp(x) / std::exp(x), 1, kBound) << x;
  }
  EXPECT_EQ(natural_exp(0), 1);
}

TEST(Elementary, ExponentialHasLimits) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(natural_exp(710), infinity);
  EXPECT_EQ(natural_exp(infinity), infinity);
  EXPECT_EQ(natural_exp(-800), 0);
  EXPECT_EQ(natural_exp(-infinity), 0);
  EXPECT_TRUE(std::isnan(natural_exp(std::nan(""))));
}

TEST(Elementary, TangentMeetsTheLibrary) {
  Random random(3);
  for (int i = 0; i < 100000; ++i) {
    const double x = 10 * random.normal();
    EXPECT_NEAR(hyperbolic_tangent(x), std::tanh(x), kBound) << x;
    EXPECT_EQ(hyperbolic_tangent(-x), -hyperbolic_tangent(x));
  }
  EXPECT_EQ(hyperbolic_tangent(0), 0);
  EXPECT_EQ(hyperbolic_tangent(1e300), 1);
  EXPECT_TRUE(std::isnan(hyperbolic_tangent(std::nan(""))));
}

}  // namespace
}  // namespace starling
