// Simulated step times compared with the theory of order statistics.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/simulations.h"

namespace starling::sim {
namespace {

using testing::simulation_of;

struct Estimate {
  double mean = 0;
  double error = 0;  // standard error of the mean
};

// Seconds per step of the run as a whole, over many seeds; the network takes no time.
Estimate step_seconds(const std::string& strategy, const strategy::OptionTexts& options, int workers,
                      cluster::Jitter jitter, std::uint64_t steps) {
  constexpr int kSeeds = 100;
  double sum = 0, squares = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Simulation simulation = simulation_of(strategy, options, workers);
    simulation.cluster = testing::instant_cluster(workers);
    for (cluster::WorkerSpec& worker : simulation.cluster.workers) worker.jitter = jitter;
    simulation.step_seconds = 1;
    simulation.steps = steps;
    simulation.seed = seed;
    simulation.evaluate_every = 1'000'000;
    const record::RunRecord run = simulate(simulation);
    double seconds = std::chrono::duration<double>(run.duration).count() / static_cast<double>(steps);
    if (strategy == "ps") {  // no worker waits: the mean over the workers, not the slowest one's
      seconds = 0;
      for (const auto& record : run.ranks) {
        if (record.trains) seconds += std::chrono::duration<double>(record.end.time_since_epoch()).count();
      }
      seconds /= static_cast<double>(steps) * workers;
    }
    sum += seconds;
    squares += seconds * seconds;
  }
  const double mean = sum / kSeeds;
  return {mean, std::sqrt((squares / kSeeds - mean * mean) / (kSeeds - 1))};
}

void expect_mean(const Estimate& estimate, double expected) {
  EXPECT_NEAR(estimate.mean, expected, 4 * estimate.error + 1e-6 * expected);
  EXPECT_LT(estimate.error, 0.05 * expected);  // otherwise the line above proves little
}

double harmonic(int n) {
  double sum = 0;
  for (int i = 1; i <= n; ++i) sum += 1.0 / i;
  return sum;
}

// E[max of n] = integral of 1 - F(t)^n.
template <class Distribution>
double expected_maximum(int n, double end, Distribution cumulative) {
  constexpr int kParts = 200'000;
  double sum = 0;
  for (int i = 0; i < kParts; ++i) sum += 1 - std::pow(cumulative(end * (i + 0.5) / kParts), n);
  return sum * end / kParts;
}

constexpr cluster::Jitter kExponential{cluster::Jitter::Kind::kExponential, 0, 0};
constexpr double kShape = 4;
constexpr cluster::Jitter kPareto{cluster::Jitter::Kind::kPareto, kShape, 0};

TEST(StepTime, AllReduceTakesTheMaximumOfExponentials) {
  for (const int workers : {1, 2, 8, 16}) {
    expect_mean(step_seconds("allreduce", {}, workers, kExponential, 50), harmonic(workers));
  }
}

TEST(StepTime, AllReduceTakesTheMaximumOfParetos) {
  const double smallest = (kShape - 1) / kShape;  // so that the mean is 1
  for (const int workers : {2, 8, 16}) {
    const double n = workers;
    const double expected = smallest * std::exp(std::lgamma(n + 1) + std::lgamma(1 - 1 / kShape) -
                                                std::lgamma(n + 1 - 1 / kShape));
    expect_mean(step_seconds("allreduce", {}, workers, kPareto, 50), expected);
  }
}

TEST(StepTime, LocalSgdTakesTheMaximumOfSums) {
  constexpr int kPeriod = 5;
  // The sum of five exponentials has the Erlang distribution.
  const auto erlang = [](double t) {
    double term = 1, sum = 1;
    for (int k = 1; k < kPeriod; ++k) sum += term *= t / k;
    return 1 - std::exp(-t) * sum;
  };
  const double expected = expected_maximum(8, 60, erlang) / kPeriod;
  expect_mean(step_seconds("local-sgd", {{"period", std::to_string(kPeriod)}}, 8, kExponential, 50),
              expected);
}

TEST(StepTime, AspWaitsForNobody) {
  expect_mean(step_seconds("ps", {{"mode", "asp"}}, 8, kExponential, 50), 1);
  expect_mean(step_seconds("ps", {{"mode", "asp"}}, 8, kPareto, 50), 1);
}

}  // namespace
}  // namespace starling::sim
