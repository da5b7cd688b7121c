#include "starling/optim/rate_scale.h"

#include <gtest/gtest.h>

#include <cmath>

#include "starling/core/error.h"

namespace starling::optim {
namespace {

TEST(RateScale, GrowsWithTheWorkersAsNamed) {
  EXPECT_EQ(rate_factor(RateScale::kNone, 8), 1);
  EXPECT_EQ(rate_factor(RateScale::kLinear, 8), 8);
  EXPECT_EQ(rate_factor(RateScale::kSqrt, 9), 3);
  EXPECT_EQ(rate_factor(RateScale::kSqrt, 8), std::sqrt(8.0));
  for (const RateScale scale : {RateScale::kNone, RateScale::kLinear, RateScale::kSqrt})
    EXPECT_EQ(rate_factor(scale, 1), 1);
}

TEST(RateScale, NamesAreReadAndOthersRefused) {
  for (const RateScale scale : {RateScale::kNone, RateScale::kLinear, RateScale::kSqrt})
    EXPECT_EQ(parse_rate_scale(name_of(scale), "x"), scale);
  try {
    parse_rate_scale("root", "--scale-lr");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "--scale-lr: unknown rule 'root'; allowed: none, linear, sqrt");
  }
}

}  // namespace
}  // namespace starling::optim
