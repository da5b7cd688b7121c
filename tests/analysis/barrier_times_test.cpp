// The largest of independent times, of one draw and of sums, against numbers that were derived apart.
#include "starling/analysis/barrier_times.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/analysis/crews.h"

namespace starling::analysis {
namespace {

constexpr double kDigits = 1.5e-6;  // of the numbers below

double sync(int workers, const char* jitter) { return sync_times(equal_crew(workers, jitter)).step.low; }

struct Largest {
  const char* jitter;
  double of_2, of_4, of_8, of_16, of_64;
};

TEST(SyncTimes, AreTheMeanOfTheLargest) {
  for (const Largest& row : {Largest{"exponential", 1.5, 2.083333, 2.717857, 3.380729, 4.743891},
                             Largest{"normal:0.1", 1.056419, 1.102938, 1.142360, 1.176599, 1.234373},
                             Largest{"normal:0.3", 1.169257, 1.308813, 1.427080, 1.529797, 1.703120},
                             Largest{"lognormal:0.2", 1.112463, 1.216325, 1.312975, 1.403827, 1.572858},
                             Largest{"lognormal:0.5", 1.276326, 1.573271, 1.887608, 2.217882, 2.925792},
                             Largest{"lognormal:1", 1.520500, 2.208126, 3.083848, 4.169688, 7.073060},
                             Largest{"pareto:4", 1.142857, 1.329870, 1.563693, 1.848869, 2.603307},
                             Largest{"pareto:2.5", 1.25, 1.602564, 2.083633, 2.728977, 4.724848},
                             Largest{"bernoulli:0.1:5", 1.76, 2.375600, 3.278131, 4.258792, 4.995284}}) {
    EXPECT_NEAR(sync(2, row.jitter), row.of_2, kDigits) << row.jitter;
    EXPECT_NEAR(sync(4, row.jitter), row.of_4, kDigits) << row.jitter;
    EXPECT_NEAR(sync(8, row.jitter), row.of_8, kDigits) << row.jitter;
    EXPECT_NEAR(sync(16, row.jitter), row.of_16, kDigits) << row.jitter;
    EXPECT_NEAR(sync(64, row.jitter), row.of_64, kDigits) << row.jitter;
  }
}

TEST(SyncTimes, OneSlowWorker) {
  const auto slow = [](int workers, const char* jitter) {
    return sync_times(crew_with_slow(workers, jitter, 4)).step.low;
  };
  EXPECT_NEAR(slow(2, "exponential"), 4.2, kDigits);
  EXPECT_NEAR(slow(8, "exponential"), 4.774323, kDigits);
  EXPECT_NEAR(slow(64, "exponential"), 6.011994, kDigits);
  EXPECT_NEAR(slow(8, "lognormal:0.5"), 4.071637, kDigits);
  EXPECT_NEAR(slow(64, "lognormal:0.5"), 4.328867, kDigits);
  EXPECT_DOUBLE_EQ(slow(8, "none"), 4);
}

TEST(SyncTimes, CommunicationIsAddedAndWaited) {
  Crew crew = equal_crew(8, "exponential");
  crew.comm_seconds = 0.5;
  const RunTimes times = sync_times(crew);
  EXPECT_NEAR(times.step.low, 3.217857, kDigits);
  EXPECT_NEAR(times.batches.low, 8 / 3.217857, kDigits);
  EXPECT_NEAR(times.waiting.low, 1 - 1 / 3.217857, kDigits);
  EXPECT_TRUE(times.exact());
}

TEST(LocalSgdTimes, AreTheMeanOfTheLargestSum) {
  const auto step = [](int workers, const char* jitter, int period) {
    return local_sgd_times(equal_crew(workers, jitter), period).step.low;
  };
  EXPECT_NEAR(step(2, "exponential", 2), 1.375, kDigits);
  EXPECT_NEAR(step(64, "exponential", 2), 3.389541, kDigits);
  EXPECT_NEAR(step(8, "exponential", 5), 1.715352, kDigits);
  EXPECT_NEAR(step(16, "exponential", 10), 1.633735, kDigits);
  EXPECT_NEAR(step(64, "exponential", 50), 1.362541, kDigits);
  EXPECT_NEAR(step(2, "lognormal:0.5", 5), 1.131605, 3e-6);
  EXPECT_NEAR(step(64, "lognormal:0.5", 5), 1.708771, 3e-6);
  EXPECT_NEAR(step(8, "lognormal:0.5", 10), 1.259110, 3e-6);
  EXPECT_NEAR(step(16, "lognormal:0.5", 50), 1.140516, 3e-6);
  EXPECT_DOUBLE_EQ(step(4, "none", 10), 1);
}

// After m = 50 the sums are nearly normal, with the m_n of the normal distribution.
TEST(LocalSgdTimes, LongPeriodsAreNearlyNormal) {
  const double step = local_sgd_times(equal_crew(16, "normal:0.3"), 50).step.low;
  EXPECT_NEAR(step, 1 + 0.3 * 1.765991 / std::sqrt(50), 1e-3);
}

TEST(BalancedTimes, EveryoneTakesAsLong) {
  const Crew crew = crew_with_slow(8, "exponential", 4);
  std::vector<double> shares(8, 8 / 7.25);
  shares[0] /= 4;
  EXPECT_NEAR(balanced_times(crew, shares).step.low, 2.999015, kDigits);
  EXPECT_NEAR(balanced_times(crew_with_slow(8, "lognormal:0.5", 4), shares).step.low, 2.082878, kDigits);
  EXPECT_NEAR(asynchronous_times(crew).step.low, 1.103448, kDigits);
  EXPECT_NEAR(asynchronous_times(crew).batches.low, 7.25, 1e-9);
}

TEST(BalancedTimes, NoSharesAreBetterThanTheLeast) {
  const Crew crew = crew_with_slow(8, "exponential", 4);
  const double least = least_balanced_times(crew).step.low;
  EXPECT_GT(least, asynchronous_times(crew).step.low);
  for (const double of_slow : {0.1, 0.2, 0.25, 0.3, 0.5, 1.0}) {
    std::vector<double> shares(8, (8 - of_slow) / 7);
    shares[0] = of_slow;
    EXPECT_GE(balanced_times(crew, shares).step.low, least) << of_slow;
  }
  EXPECT_NEAR(least_balanced_times(equal_crew(8, "exponential")).step.low, 2.717857, kDigits);
}

// All order statistics together have the sum of the means.
TEST(OrderStatistics, AddUpToTheMeans) {
  for (const char* const jitter : {"exponential", "normal:0.3", "bernoulli:0.1:5", "none"}) {
    const Crew crew = crew_with_slow(6, jitter, 2);
    const TimeLaw law = law_of(crew.jitter);
    const std::vector<Team> teams = teams_of(crew, law);
    double sum = 0;
    for (int k = 1; k <= 6; ++k) sum += mean_of_smallest(teams, k);
    EXPECT_NEAR(sum, 7 * law.mean(), 1e-6) << jitter;
  }
}

}  // namespace
}  // namespace starling::analysis
