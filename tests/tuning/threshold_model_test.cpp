#include "starling/tuning/threshold_model.h"

#include <gtest/gtest.h>

#include "tests/support/refusal.h"

namespace starling::tuning {
namespace {

constexpr std::size_t kMib = std::size_t{1} << 20;

std::vector<Trial> valley(double unit) {
  std::vector<Trial> trials;
  for (const std::size_t size : {1, 2, 4, 64, 128, 256}) {
    const auto x = static_cast<double>(size);
    trials.push_back({size * kMib, unit * (0.1 + 0.16 / x + 0.000625 * x)});
  }
  return trials;
}

TEST(ThresholdModel, GainsAreInTheValley) {
  const ThresholdModel model(valley(1));
  EXPECT_GT(model.gain_at(16 * kMib), 0.05);
  for (const std::size_t tried : {1, 2, 4, 64, 256}) {
    EXPECT_LT(model.gain_at(tried * kMib), 0.01) << tried;
  }
}

TEST(ThresholdModel, TheUnitOfTimeDoesNotMatter) {
  const ThresholdModel seconds(valley(1)), hours(valley(3600));
  for (std::size_t size = 1; size <= 256; size *= 2) {
    EXPECT_NEAR(seconds.gain_at(size * kMib), hours.gain_at(size * kMib), 1e-9) << size;
  }
}

TEST(ThresholdModel, EqualTimesPromiseNothing) {
  const std::vector<Trial> trials{{kMib, 0.1}, {16 * kMib, 0.1}};
  EXPECT_LT(ThresholdModel(trials).gain_at(4 * kMib), 0.001);
}

TEST(ThresholdModel, Octaves) {
  EXPECT_NEAR(octave_of(kMib), 20, 1e-12);
  EXPECT_NEAR(octave_of(3), 1.584962500721156, 1e-14);
  EXPECT_EQ(testing::refusal([] { ThresholdModel({}); }), "a model of 0 trials; allowed: 1 and more");
}

}  // namespace
}  // namespace starling::tuning
