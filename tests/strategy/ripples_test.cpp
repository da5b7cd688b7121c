#include "starling/strategy/ripples.h"

#include <gtest/gtest.h>

#include "starling/core/error.h"
#include "tests/strategy/ripples_cases.h"
#include "tests/support/refusal.h"

namespace starling::strategy {
namespace {

using testing::run_to_end;
using testing::simulation_of;

// With one group of all and equal speeds, the groups have no effect.
TEST(Ripples, AGroupOfAllIsLocalSgdThatAveragesEveryStep) {
  for (const int workers : {2, 3, 4, 7, 8}) {
    sim::Simulation simulation = simulation_of("local-sgd", {{"period", "1"}}, workers);
    for (cluster::WorkerSpec& worker : simulation.cluster.workers) worker.host = 0;
    simulation.optimizer.momentum = 0.9;
    simulation.steps = 20;
    const testing::Models expected = run_to_end(simulation).models;
    simulation.strategy = &find_strategy("ripples");
    const std::string all = std::to_string(workers);
    for (const OptionTexts& options :
         {OptionTexts{{"division", "global"}, {"group-size", all}}, OptionTexts{{"groups", "static"}},
          OptionTexts{{"groups", "static"}, {"group-size", all}},
          OptionTexts{{"groups", "ready"}, {"group-size", all}}}) {
      simulation.options = options;
      EXPECT_EQ(run_to_end(simulation).models, expected) << workers << " workers";
    }
  }
}

// A cluster and options with which every number is an exact float: a step takes 3^6 off the worker's own
// element, groups are of two to four, and there are few steps.
sim::Simulation exact_simulation(const std::string& policy, std::uint64_t seed) {
  Random random(seed);
  const int workers = random.between(2, 4);
  OptionTexts options = random_options(policy, random);
  options["group-size"] = policy == "static" ? std::array{"0", "2", "3"}[random.below(3)] : "2";
  options["period"] = "1";
  options.erase("weights");
  sim::Simulation simulation = simulation_of("ripples", options, workers);
  simulation.seed = seed;
  simulation.workload = testing::signatures(workers);
  simulation.optimizer.learning_rate = 729;
  simulation.steps = static_cast<std::uint64_t>(random.between(1, 3));
  randomize(simulation.cluster, random);
  randomize_links(simulation.cluster, random);
  return simulation;
}

// Averages are in progress while workers go on, leave and ask: nothing is lost and nothing counted twice.
TEST(Ripples, TheSumOfTheModelsIsExact) {
  for (const char* policy : kPolicies) {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
      const sim::Simulation simulation = exact_simulation(policy, seed);
      const testing::Models models = run_to_end(simulation).models;
      for (std::size_t i = 0; i < models.size(); ++i) {
        double sum = 0;
        for (const auto& model : models) sum += static_cast<double>(model[i]);
        ASSERT_EQ(sum, -729.0 * static_cast<double>(simulation.steps))
            << policy << ", seed " << seed << ", element " << i;
      }
    }
  }
}

// The average takes 80 ms and the step 100 ms.
TEST(Ripples, OverlapHidesASlowNetwork) {
  sim::Simulation simulation = simulation_of("ripples", {{"groups", "static"}}, 4);
  for (cluster::HostSpec& host : simulation.cluster.hosts)
    host.outside.latency = std::chrono::milliseconds(40);
  simulation.steps = 50;
  const Duration without = sim::simulate(simulation).duration;
  simulation.options["overlap"] = "1";
  const Duration with = sim::simulate(simulation).duration;
  EXPECT_LT(seconds_of(with), 50 * 0.1 + 0.5);
  EXPECT_GT(seconds_of(without), 50 * (0.1 + 0.04));
}

// Up to the rounding of x + (mean - x).
TEST(Ripples, WithoutLearningOverlapChangesNothing) {
  for (const int workers : {2, 4, 6}) {
    sim::Simulation simulation =
        simulation_of("ripples", {{"groups", "static"}, {"group-size", "2"}}, workers);
    simulation.optimizer.learning_rate = 0;
    simulation.spread = 1;
    const testing::Models expected = run_to_end(simulation).models;
    simulation.options["overlap"] = "1";
    const testing::Models found = run_to_end(simulation).models;
    for (std::size_t rank = 0; rank < expected.size(); ++rank) {
      for (std::size_t i = 0; i < expected[rank].size(); ++i) {
        EXPECT_NEAR(found[rank][i], expected[rank][i], 1e-5);
      }
    }
  }
}

TEST(Ripples, AGroupOfOneIsRefused) {
  EXPECT_EQ(testing::refusal([] {
              sim::simulate(simulation_of("ripples", {{"group-size", "1"}}, 4));
            }),
            "strategy ripples, option group-size: 1 averages nothing; allowed: 0 or at least 2");
}

}  // namespace
}  // namespace starling::strategy
