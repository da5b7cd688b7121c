#include "starling/analysis/time_law.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "starling/analysis/draw_sums.h"
#include "starling/analysis/fourier.h"
#include "starling/analysis/integral.h"

namespace starling::analysis {
namespace {

using cluster::parse_jitter;

TimeLaw law(const char* jitter) { return law_of(parse_jitter(jitter, "jitter")); }

constexpr const char* kJitters[] = {"none",          "normal:0.3",  "normal:1",
                                    "lognormal:0.5", "lognormal:1", "exponential",
                                    "pareto:4",      "pareto:2.5",  "bernoulli:0.1:5"};

TEST(TimeLaw, HasTheMeansOfTheFactors) {
  EXPECT_NEAR(law("normal:0.3").mean(), 1.000063, 1e-6);
  EXPECT_NEAR(law("normal:0.5").mean(), 1.005527, 1e-6);
  EXPECT_NEAR(law("normal:1").mean(), 1.091556, 1e-6);
  EXPECT_NEAR(law("bernoulli:0.1:5").mean(), 1.4, 1e-12);
  for (const char* const jitter : {"none", "lognormal:1", "exponential", "pareto:4"})
    EXPECT_EQ(law(jitter).mean(), 1) << jitter;
}

TEST(TimeLaw, TheDensityAndTheAtomsAreOneAndHaveTheMean) {
  for (const char* const jitter : kJitters) {
    const TimeLaw one = law(jitter);
    EXPECT_NEAR(one.mean_of([](double) { return 1.0; }), 1, 1e-9) << jitter;
    EXPECT_NEAR(one.mean_of([](double t) { return t; }), one.mean(), 1e-7) << jitter;
    EXPECT_NEAR(one.scaled(3).mean_of([](double t) { return t; }), 3 * one.mean(), 3e-7) << jitter;
  }
}

// By drawing: what is above the times where a tenth, a half and nine tenths should be.
TEST(TimeLaw, IsThatOfTheDraws) {
  constexpr int kDraws = 100'000;
  for (const char* const jitter : kJitters) {
    const TimeLaw one = law(jitter);
    Random random(7);
    std::vector<double> draws;
    for (int i = 0; i < kDraws; ++i) draws.push_back(draw(parse_jitter(jitter, "jitter"), random));
    for (const double t : {0.05, 0.1, 0.4, 0.7, 0.9, 1.0, 1.2, 2.0, 4.9, 5.0, 6.0}) {
      const double above = one.above(t);
      const auto drawn = static_cast<double>(std::ranges::count_if(draws, [t](double x) { return x > t; }));
      EXPECT_NEAR(drawn / kDraws, above, 4 * std::sqrt(above * (1 - above) / kDraws) + 1e-12)
          << jitter << " " << t;
    }
  }
}

TEST(TimeLaw, AtomsAreAtTimesThatDifferByRounding) {
  const TimeLaw law = law_of({cluster::Jitter::Kind::kNone, 0, 0});
  EXPECT_EQ(law.scaled(0.3).above(0.1 * 3), 0);
  EXPECT_EQ(law.scaled(0.3).from(0.1 * 3), 1);
  EXPECT_EQ(law.scaled(0.3).above(0.299), 1);
  EXPECT_EQ(law.scaled(0.3).from(0.301), 0);
}

TEST(DrawSums, HaveTheMeanAndTheVarianceOfSums) {
  for (const char* const jitter : kJitters) {
    const TimeLaw one = law(jitter);
    const double variance = one.mean_of([&](double t) { return (t - one.mean()) * (t - one.mean()); });
    const DrawSums sums(parse_jitter(jitter, "jitter"), 10);
    for (const int count : {2, 5, 10}) {
      const TimeLaw sum = sums.of(count);
      EXPECT_NEAR(sum.mean(), count * one.mean(), 1e-9) << jitter;
      EXPECT_NEAR(sum.mean_of([](double t) { return t; }), sum.mean(), 2e-4 * sum.mean()) << jitter << count;
      if (std::string(jitter) == "pareto:2.5") continue;  // the tail makes the variance
      const double spread = sum.mean_of([&](double t) { return (t - sum.mean()) * (t - sum.mean()); });
      EXPECT_NEAR(spread, count * variance, 2e-3 * count * variance + 1e-12) << jitter << " " << count;
    }
  }
}

TEST(DrawSums, TwoValuesMakeABinomialDistribution) {
  const TimeLaw sum = DrawSums(parse_jitter("bernoulli:0.1:5", "jitter"), 3).of(3);
  EXPECT_NEAR(sum.from(15), 0.001, 1e-12);
  EXPECT_NEAR(sum.from(11), 0.028, 1e-12);
  EXPECT_NEAR(sum.above(3), 1 - 0.729, 1e-12);
}

TEST(Fourier, ThereAndBackMultipliesByTheSize) {
  Random random(3);
  std::vector<std::complex<double>> values;
  for (int i = 0; i < 64; ++i) values.emplace_back(random.normal(), random.normal());
  std::vector<std::complex<double>> copy = values;
  transform(copy, false);
  std::complex<double> sum = 0;
  for (const auto& value : values) sum += value;
  EXPECT_NEAR(std::abs(copy[0] - sum), 0, 1e-12);
  transform(copy, true);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(std::abs(copy[i] / 64.0 - values[i]), 0, 1e-12);
}

TEST(Integral, IsExactForPolynomialsAndGoodForTails) {
  const double few[] = {0, 1, 2};
  EXPECT_NEAR(integral(nodes_between(few), [](double t) { return std::pow(t, 9); }), 102.4, 1e-10);
  const double far[] = {1, 10, 1e3, 1e6, 1e12, 1e18};
  EXPECT_NEAR(integral(nodes_between(far), [](double t) { return std::pow(t, -1.5); }), 2 - 2e-9, 1e-7);
}

}  // namespace
}  // namespace starling::analysis
