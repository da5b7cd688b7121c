// Backup workers and SSP, against numbers that were derived or simulated apart.
#include <gtest/gtest.h>

#include "starling/analysis/backup_times.h"
#include "starling/analysis/ssp_times.h"
#include "tests/analysis/crews.h"

namespace starling::analysis {
namespace {

TEST(BackupTimes, AreExactForExponentialFactors) {
  const auto step = [](int workers, int backup) {
    const RunTimes times = backup_times(equal_crew(workers, "exponential"), backup);
    EXPECT_TRUE(times.exact());
    return times.step.low;
  };
  EXPECT_NEAR(step(8, 1), 1.932589, 1e-6);
  EXPECT_NEAR(step(8, 2), 1.534377, 1e-6);
  EXPECT_NEAR(step(16, 2), 2.115362, 1e-6);
  EXPECT_NEAR(step(64, 4), 2.823790, 1e-6);
  EXPECT_NEAR(step(8, 0), 2.717857, 1e-6);
}

TEST(BackupTimes, AWorkersOwnStepCountsDroppedGradients) {
  EXPECT_NEAR(backup_times(equal_crew(8, "exponential"), 1).waiting.low, 1 - 1 / 1.963265, 1e-6);
  EXPECT_NEAR(backup_times(equal_crew(8, "exponential"), 2).waiting.low, 1 - 1 / 1.617903, 1e-6);
}

struct Version {
  const char* jitter;
  int workers, backup;
  double interrupted, finished;
};

TEST(BackupTimes, LieBetweenTheBounds) {
  for (const Version& row :
       {Version{"lognormal:0.5", 8, 1, 1.393050, 1.498}, Version{"lognormal:0.5", 8, 2, 1.146460, 1.304},
        Version{"lognormal:0.5", 64, 4, 1.847934, 1.933}, Version{"pareto:4", 8, 1, 1.172770, 1.271},
        Version{"pareto:4", 16, 2, 1.213320, 1.328}}) {
    const RunTimes times = backup_times(equal_crew(row.workers, row.jitter), row.backup);
    EXPECT_NEAR(times.step.low, row.interrupted, 1e-6) << row.jitter;
    EXPECT_LT(times.step.low, row.finished);
    EXPECT_GT(times.step.high, row.finished);
    EXPECT_FALSE(times.exact());
  }
}

TEST(SspTimes, TheChainIsExact) {
  EXPECT_NEAR(*ssp_step_of_chain(2, 3), 7.0 / 6, 1e-6);
  EXPECT_NEAR(*ssp_step_of_chain(4, 2), 1.515199, 1e-6);
  EXPECT_NEAR(*ssp_step_of_chain(4, 10), 1.097899, 1e-6);
  EXPECT_NEAR(*ssp_step_of_chain(8, 3), 1.509687, 1e-6);
  EXPECT_NEAR(*ssp_step_of_chain(8, 5), 1.296162, 1e-6);
  EXPECT_NEAR(*ssp_step_of_chain(16, 4), 1.500888, 1e-6);
  EXPECT_NEAR(*ssp_step_of_chain(64, 2), 2.679086, 1e-6);
  EXPECT_NEAR(*ssp_step_of_chain(64, 3), 2.050907, 1e-6);
  EXPECT_FALSE(ssp_step_of_chain(64, 10));
}

TEST(SspTimes, ABoundOfOneIsABarrier) {
  EXPECT_NEAR(ssp_times(equal_crew(8, "lognormal:0.5"), 1).step.low, 1.887608, 1e-6);
  EXPECT_NEAR(ssp_times(equal_crew(8, "exponential"), 1).step.high, 2.717857, 1e-6);
}

struct Stale {
  int workers, staleness;
  double step;  // simulated
};

TEST(SspTimes, LieBetweenTheBounds) {
  for (const Stale& row :
       {Stale{4, 2, 1.194}, Stale{8, 3, 1.176}, Stale{16, 5, 1.127}, Stale{64, 10, 1.084}}) {
    const RunTimes times = ssp_times(equal_crew(row.workers, "lognormal:0.5"), row.staleness);
    EXPECT_LT(times.step.low, row.step);
    EXPECT_GT(times.step.low, 1);
    EXPECT_GT(times.step.high, row.step);
  }
  // Those of the exponential distribution are around what the chain says.
  const Crew nearly_equal = crew_with_slow(16, "exponential", 1 + 1e-9);
  const RunTimes times = ssp_times(nearly_equal, 3);
  EXPECT_LT(times.step.low, 1.686294);
  EXPECT_GT(times.step.low, 1.3);
  EXPECT_GT(times.step.high, 1.686294);
}

}  // namespace
}  // namespace starling::analysis
