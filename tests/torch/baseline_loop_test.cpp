// The loop without Starling, which sets the speed that runs are measured against.
#include "starling/torch/baseline_loop.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "starling/data/dataset.h"

namespace starling::torch {
namespace {

TrainOptions noise_options(int workers) {
  TrainOptions options;
  options.data = std::make_shared<const data::DataSet>(data::load("noise:256", "--data"));
  options.optimizer.learning_rate = 0.02;
  options.optimizer.momentum = 0.9;
  options.cluster = cluster::even_cluster(workers, workers, cluster::parse_link("10gbe", "x"),
                                          cluster::parse_link("shm", "x"), {});
  return options;
}

std::uint64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_minflt);
}

double processor_seconds() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

TEST(BaselineLoop, TellsWhenEachStepEnded) {
  TrainOptions options = noise_options(2);
  options.model = "mlp";
  const auto ends = train_baseline(options, 1, 2, [](std::uint64_t steps) { return steps < 7; });
  EXPECT_EQ(ends.size(), 7U);  // an epoch has 4
  EXPECT_TRUE(std::is_sorted(ends.begin(), ends.end()));
}

// Every step frees its gradients and makes new ones. When the C library gave the freed pages back to the
// system, each step paid for 1,600 fresh ones, and the loop was up to 30 % slower than one worker of a run.
TEST(BaselineLoop, KeepsItsMemoryFromStepToStep) {
  constexpr std::uint64_t kFirst = 5, kSteps = 21, kFew = 100;
  std::vector<std::uint64_t> faults;  // of each step; while others use the machine, a few have more
  std::uint64_t before = 0;
  train_baseline(noise_options(1), 0, 1, [&](std::uint64_t steps) {
    const std::uint64_t now = page_faults();
    if (steps > kFirst) faults.push_back(now - before);
    before = now;
    return steps < kFirst + kSteps;
  });
  ASSERT_EQ(faults.size(), kSteps);
  std::sort(faults.begin(), faults.end());
  EXPECT_LT(faults[kSteps / 2], kFew);
}

TEST(BaselineLoop, ASlowWorkerSleeps) {
  TrainOptions options = noise_options(1);
  options.model = "mlp";
  cluster::add_fault(options.cluster, {.kind = cluster::Fault::Kind::kSlow, .subject = 0, .factor = 50}, "x");
  double computed = 0;
  const auto ends = train_baseline(options, 0, 1, [&](std::uint64_t steps) {
    if (steps == 2) computed -= processor_seconds();
    if (steps == 4) computed += processor_seconds();
    return steps < 4;
  });
  EXPECT_LT(computed, std::chrono::duration<double>(ends[3] - ends[1]).count() / 5);
}

TEST(BaselineLoop, KnowsOneOptimizer) {
  TrainOptions options = noise_options(1);
  options.optimizer.kind = optim::OptimizerSpec::Kind::kAdam;
  EXPECT_THROW(train_baseline(options, 0, 1, [](std::uint64_t) { return false; }), InvalidArgument);
}

}  // namespace
}  // namespace starling::torch
