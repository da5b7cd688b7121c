#include "starling/strategy/batch/speed_estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "starling/core/random.h"

namespace starling::strategy {
namespace {

TEST(SpeedEstimate, KnowsNothingWithoutSamples) {
  SpeedEstimate speed;
  EXPECT_FALSE(speed.known());
  speed.add(1, 0);
  speed.add(0, 8);
  EXPECT_FALSE(speed.known());
  EXPECT_EQ(speed.seconds(), 0);
}

TEST(SpeedEstimate, IsTheTimeOfASample) {
  SpeedEstimate speed;
  speed.add(2, 8);
  EXPECT_DOUBLE_EQ(speed.seconds(), 0.25);
  speed.add(1, 4);
  EXPECT_DOUBLE_EQ(speed.seconds(), 0.25);
}

// Batches of other sizes are no change of speed.
TEST(SpeedEstimate, FollowsAChangeWithinThreeSteps) {
  for (const double factor : {0.25, 0.5, 1.5, 2.0, 4.0, 10.0}) {
    SpeedEstimate speed;
    for (int step = 0; step < 100; ++step) speed.add(0.1 * (8 + step % 3), 8 + step % 3);
    EXPECT_NEAR(speed.seconds(), 0.1, 1e-12);
    for (int step = 0; step < 3; ++step) speed.add(0.1 * factor * 8, 8);
    EXPECT_NEAR(speed.seconds(), 0.1 * factor, 0.1 * factor * 0.02) << factor;
  }
}

// With exponential times, whose standard deviation is their mean, the estimate stays near the mean.
TEST(SpeedEstimate, IsNotFooledByScatter) {
  double worst = 0, sum = 0;
  int count = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    SpeedEstimate speed;
    for (int step = 0; step < 400; ++step) {
      speed.add(8 * random.exponential(1), 8);
      if (step < 100) continue;
      worst = std::max(worst, std::abs(speed.seconds() - 1));
      sum += speed.seconds();
      ++count;
    }
  }
  EXPECT_NEAR(sum / count, 1, 0.03);
  EXPECT_LT(worst, 4);
}

}  // namespace
}  // namespace starling::strategy
