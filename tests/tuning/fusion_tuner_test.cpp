#include "starling/tuning/fusion_tuner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "starling/core/random.h"
#include "tests/support/refusal.h"

namespace starling::tuning {
namespace {

using testing::refusal;

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

// Seconds of a step, by the threshold in MiB.
struct Curve {
  std::string name;
  double (*seconds)(double);

  double at(std::size_t threshold) const { return seconds(static_cast<double>(threshold) / kMebibyte); }

  // How much longer a step takes than with the best of the range.
  double excess(std::size_t threshold) const {
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i <= 64; ++i) best = std::min(best, seconds(std::exp2(i / 8.0)));
    return at(threshold) / best - 1;
  }
};

const std::vector<Curve>& curves() {
  static const std::vector<Curve> all = {
      {"Valley4", [](double x) { return 0.01 + 0.02 / x + 0.00125 * x; }},
      {"Valley16", [](double x) { return 0.05 + 0.16 / x + 0.000625 * x; }},
      {"Valley64", [](double x) { return 0.05 + 0.64 / x + 0.00015625 * x; }},
      {"Deep", [](double x) { return 1 / x + 0.01 * x; }},
      {"Flat", [](double) { return 0.1; }},
      {"Falling", [](double x) { return 0.02 + 0.5 / x; }},
      {"Rising", [](double x) { return 0.05 + 0.002 * x; }},
      {"StepUp", [](double x) { return 0.1 + 0.2 / x + 0.0002 * x + (x > 32 ? 0.05 : 0); }},
      {"StepDown", [](double x) { return 0.1 + 0.0005 * x + (x < 24 ? 0.04 : 0); }},
      // 100 MiB in equal messages.
      {"Stairs", [](double x) { return 0.08 + 0.002 * std::ceil(100 / x) + 0.0008 * std::min(x, 100.0); }}};
  return all;
}

// Multiplicative noise of up to `noise` either way, and 3 % of the steps take five times as long.
double noisy(double seconds, double noise, Random& random) {
  const double factor = 1 + noise * (2 * random.uniform() - 1);
  return seconds * factor * (random.chance(0.03) ? 5 : 1);
}

void search(FusionTuner& tuner, const Curve& curve, double noise, Random& random) {
  for (int step = 0; step < 1000 && !tuner.settled(); ++step) {
    const double seconds = curve.at(tuner.threshold());
    tuner.note(noise > 0 ? noisy(seconds, noise, random) : seconds);
  }
}

class FusionTunerOn : public ::testing::TestWithParam<Curve> {};
INSTANTIATE_TEST_SUITE_P(Curves, FusionTunerOn, ::testing::ValuesIn(curves()),
                         [](const auto& test) { return test.param.name; });

TEST_P(FusionTunerOn, FindsTheBestWithoutNoise) {
  for (const std::size_t start : {1, 25, 256}) {
    FusionTuner tuner({.start = start * kMebibyte});
    Random random(1);
    search(tuner, GetParam(), 0, random);
    EXPECT_TRUE(tuner.settled());
    EXPECT_LE(tuner.trials().size(), 12U);
    EXPECT_LE(GetParam().excess(tuner.threshold()), 0.03) << "start " << start;
  }
}

// With 10 % noise the fastest of the trials is sometimes a lucky one: 2 of 100 allow for that.
TEST_P(FusionTunerOn, FindsTheBestInNoise) {
  for (const double noise : {0.05, 0.1}) {
    int missed = 0;
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      FusionTuner tuner({});
      Random random(seed);
      search(tuner, GetParam(), noise, random);
      EXPECT_TRUE(tuner.settled());
      EXPECT_LE(tuner.trials().size(), 12U);
      const double excess = GetParam().excess(tuner.threshold());
      EXPECT_LE(excess, 0.15) << "seed " << seed;
      missed += excess > 0.08 ? 1 : 0;
      sum += excess;
      for (int step = 0; step < 300; ++step) {
        tuner.note(noisy(GetParam().at(tuner.threshold()), noise, random));
      }
      EXPECT_EQ(tuner.restarts(), 0) << "seed " << seed;
    }
    EXPECT_LE(missed, noise > 0.05 ? 2 : 0) << "noise " << noise;
    EXPECT_LE(sum / 100, 0.02) << "noise " << noise;
  }
}

TEST_P(FusionTunerOn, NeverTriesNearlyTheSameTwiceAndSettlesForTheFastest) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    FusionTuner tuner({});
    Random random(seed);
    search(tuner, GetParam(), 0.1, random);
    const std::vector<Trial>& trials = tuner.trials();
    EXPECT_EQ(trials.front().threshold, 25 * kMebibyte);
    double fastest = std::numeric_limits<double>::infinity();
    std::vector<double> octaves = octaves_of(trials);
    for (const Trial& trial : trials) fastest = std::min(fastest, trial.seconds);
    for (const Trial& trial : trials) {
      EXPECT_TRUE(trial.threshold >= kMebibyte && trial.threshold <= 256 * kMebibyte);
      EXPECT_EQ(trial.threshold == tuner.threshold(), trial.seconds == fastest);
    }
    std::sort(octaves.begin(), octaves.end());
    for (std::size_t i = 1; i < octaves.size(); ++i) EXPECT_GE(octaves[i] - octaves[i - 1], 0.2);
  }
}

TEST(FusionTuner, ATrialIsTheMedianOfItsStepsAfterTheDroppedOnes) {
  FusionTuner tuner({.dropped = 2, .window = 4});
  for (const double seconds : {9.0, 9.0, 1.0, 4.0, 3.0}) EXPECT_FALSE(tuner.note(seconds));
  EXPECT_TRUE(tuner.trials().empty());
  EXPECT_TRUE(tuner.note(100));
  ASSERT_EQ(tuner.trials().size(), 1U);
  EXPECT_EQ(tuner.trials()[0].threshold, 25 * kMebibyte);
  EXPECT_EQ(tuner.trials()[0].seconds, 3.5);
  EXPECT_NE(tuner.threshold(), 25 * kMebibyte);
}

TEST(FusionTuner, NoteTellsEveryChange) {
  FusionTuner tuner({});
  Random random(3);
  for (int step = 0; step < 300; ++step) {
    const std::size_t before = tuner.threshold();
    const bool changed = tuner.note(noisy(curves()[1].at(before), 0.1, random));
    EXPECT_EQ(changed, tuner.threshold() != before);
  }
}

TEST(FusionTuner, SearchesAgainWhenTheCurveHasChanged) {
  FusionTuner tuner({});
  Random random(1);
  const Curve &before = curves()[0], &after = curves()[2];
  search(tuner, before, 0.03, random);
  for (int step = 0; step < 100; ++step) tuner.note(noisy(before.at(tuner.threshold()), 0.03, random));
  const std::vector<Trial> old = tuner.trials();
  const std::size_t settled = tuner.threshold();
  int steps = 0;
  for (; tuner.settled() && steps < 100; ++steps) {
    EXPECT_FALSE(tuner.note(noisy(after.at(settled), 0.03, random)));
  }
  EXPECT_GE(steps, 20);
  EXPECT_LE(steps, 30);
  EXPECT_EQ(tuner.restarts(), 1);
  EXPECT_EQ(tuner.threshold(), settled);
  search(tuner, after, 0.03, random);
  EXPECT_LE(after.excess(tuner.threshold()), 0.05);
  ASSERT_GT(tuner.trials().size(), old.size());
  EXPECT_LE(tuner.trials().size(), old.size() + 12);
  EXPECT_EQ(tuner.trials()[old.size()].threshold, settled);
  for (std::size_t i = 0; i < old.size(); ++i) EXPECT_EQ(tuner.trials()[i].seconds, old[i].seconds);
}

TEST(FusionTuner, SearchesAgainWhenStepsHaveBecomeFaster) {
  FusionTuner tuner({.trials = 1, .dropped = 0});
  for (int step = 0; step < 50; ++step) tuner.note(1);
  for (int step = 0; step < 50; ++step) tuner.note(0.9);
  EXPECT_EQ(tuner.restarts(), 0);
  for (int step = 0; step < 22; ++step) tuner.note(0.8);
  EXPECT_EQ(tuner.restarts(), 1);
}

// Step times that double every now and then: a run of days searches again and again.
TEST(FusionTuner, ForgetsOldTrials) {
  FusionTuner tuner({.trials = 4, .dropped = 0});
  for (int change = 0; change < 1000; ++change) {
    for (int step = 0; step < 200; ++step) tuner.note(change % 2 == 0 ? 1 : 2);
    EXPECT_LE(tuner.trials().size(), FusionTuner::kMostTrials + 4);
  }
  EXPECT_GE(tuner.restarts(), 500);
  EXPECT_GE(tuner.trials().size(), 4U);
}

TEST(FusionTuner, OutliersAndShortDisturbancesAreNoReason) {
  FusionTuner tuner({.trials = 1});
  for (int step = 0; step < 50; ++step) tuner.note(1);
  for (int step = 0; step < 1000; ++step) tuner.note(step % 3 == 0 ? 50 : 1);
  for (int step = 0; step < 1000; ++step) tuner.note(step % 40 > 20 ? 2 : 1);
  EXPECT_TRUE(tuner.settled());
  EXPECT_EQ(tuner.restarts(), 0);
}

TEST(FusionTuner, OnePointOfRangeSettlesAtOnce) {
  FusionTuner tuner({.lowest = 1, .highest = 1, .start = 1, .dropped = 0, .window = 1});
  EXPECT_FALSE(tuner.note(1));
  EXPECT_TRUE(tuner.settled());
  EXPECT_EQ(tuner.threshold(), 1U);
}

TEST(FusionTuner, TheSameTimesGiveTheSameTrials) {
  FusionTuner first({}), second({});
  Random random(7);
  for (int step = 0; step < 200; ++step) {
    const double seconds = noisy(curves()[9].at(first.threshold()), 0.1, random);
    EXPECT_EQ(first.note(seconds), second.note(seconds));
    ASSERT_EQ(first.threshold(), second.threshold());
  }
}

TEST(FusionTuner, RefusesTimesThatCannotBe) {
  FusionTuner tuner({.dropped = 0, .window = 1});
  EXPECT_EQ(refusal([&] { tuner.note(0); }),
            "fusion tuner: a step of 0 seconds; allowed: above 0 and finite");
  EXPECT_NE(refusal([&] { tuner.note(-1); }), "accepted");
  EXPECT_NE(refusal([&] { tuner.note(std::nan("")); }), "accepted");
  EXPECT_NE(refusal([&] { tuner.note(std::numeric_limits<double>::infinity()); }), "accepted");
  EXPECT_TRUE(tuner.trials().empty());
}

TEST(FusionTuner, RefusesBadSettings) {
  const auto answer = [](const TunerSetting& setting) { return refusal([&] { FusionTuner{setting}; }); };
  EXPECT_EQ(answer({.lowest = 8, .highest = 16, .start = 4}),
            "fusion tuner: lowest 8, start 4, highest 16 bytes; allowed: 1 <= lowest <= start <= highest");
  EXPECT_NE(answer({.lowest = 8, .highest = 16, .start = 17}), "accepted");
  EXPECT_NE(answer({.lowest = 0}), "accepted");
  EXPECT_EQ(answer({.trials = 0}), "fusion tuner: trials is 0; allowed: 1 to 64");
  EXPECT_NE(answer({.trials = 65}), "accepted");
  EXPECT_EQ(answer({.dropped = -1}), "fusion tuner: dropped is -1; allowed: 0 to 1000000");
  EXPECT_NE(answer({.window = 0}), "accepted");
  EXPECT_NE(answer({.patience = 0}), "accepted");
  EXPECT_EQ(answer({.drift = 0}), "fusion tuner: drift is 0; allowed: above 0 and finite");
  EXPECT_NE(answer({.drift = std::nan("")}), "accepted");
  EXPECT_EQ(answer({}), "accepted");
}

}  // namespace
}  // namespace starling::tuning
