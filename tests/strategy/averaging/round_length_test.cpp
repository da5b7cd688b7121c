// Rounds of local SGD by speed: nobody waits, and what became of the workers' changes.
#include "starling/strategy/averaging/round_length.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/refusal.h"
#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

using testing::run_to_end;
using testing::simulation_of;

// Worker 0 computes at a fraction of the others' speed.
sim::Simulation with_slow_rank(const OptionTexts& options, int workers, double slowness) {
  sim::Simulation simulation = simulation_of("local-sgd", options, workers);
  simulation.cluster = testing::instant_cluster(workers);
  simulation.cluster.workers[0].speed = 1 / slowness;
  return simulation;
}

TEST(RoundLength, StepsAreInProportionToSpeed) {
  EXPECT_EQ(steps_in_round(20, 1), 20U);
  EXPECT_EQ(steps_in_round(20, 0.25), 5U);
  EXPECT_EQ(steps_in_round(20, 0.2499999), 5U);
  EXPECT_EQ(steps_in_round(20, 0.24), 4U);
  EXPECT_EQ(steps_in_round(20, 1e-9), 1U);
  EXPECT_EQ(steps_in_round(1, 0.999), 1U);
  EXPECT_EQ(steps_in_round(20, std::numeric_limits<double>::quiet_NaN()), 20U);  // no step took any time
}

// When a worker of full speed has made so many steps.
Time after_steps(int steps) { return Time(steps * std::chrono::milliseconds(100)); }

// In steps of all workers for each step of a fast one.
double throughput(const OptionTexts& options) {
  sim::Simulation simulation = with_slow_rank(options, 8, 4);
  constexpr int kUnits = 1000;
  simulation.steps = 1'000'000;
  simulation.until = after_steps(kUnits);
  std::uint64_t steps = 0;
  for (const record::RankRecord& record : sim::simulate(simulation).ranks) steps += record.journal.steps;
  return static_cast<double>(steps) / kUnits;
}

TEST(RoundLength, NobodyWaitsForASlowWorker) {
  const double sum_of_speeds = 7.25;
  EXPECT_GE(throughput({{"period", "10"}, {"period-by", "speed"}}), 0.95 * sum_of_speeds);
  EXPECT_GE(throughput({{"period", "50"}, {"period-by", "speed"}, {"outer", "nesterov"}}),
            0.95 * sum_of_speeds);
  EXPECT_LE(throughput({{"period", "10"}}), 8 * 0.25 * 1.05);
}

TEST(RoundLength, FollowsAWorkerThatBecomesSlow) {
  sim::Simulation simulation = with_slow_rank({{"period", "10"}, {"period-by", "speed"}}, 4, 1);
  simulation.cluster.faults.push_back({.kind = cluster::Fault::Kind::kSlow,
                                       .subject = 2,
                                       .from = after_steps(500),
                                       .to = after_steps(1000),
                                       .factor = 5});
  simulation.steps = 1'000'000;
  simulation.until = after_steps(1000);
  const record::RunRecord run = sim::simulate(simulation);
  EXPECT_GE(run.ranks[0].journal.steps, 940U);
  EXPECT_NEAR(static_cast<double>(run.ranks[2].journal.steps), 600, 20);
}

// Worker 0 has half the speed. The rounds: a step each; 5 and 10; 5 and 9, with which worker 1 is over; then
// worker 0 alone makes its last 9. Worker i's steps move element i by the rate, and count by half as long as
// both make some.
TEST(RoundLength, WorkersCountTheSameAndThoseWithoutStepsDoNot) {
  sim::Simulation simulation = with_slow_rank({{"period", "10"}, {"period-by", "speed"}}, 2, 2);
  simulation.workload = testing::signatures(2);
  simulation.optimizer.learning_rate = 0.5;
  simulation.steps = 20;
  const auto outcome = run_to_end(simulation);
  EXPECT_EQ(outcome.models[0], outcome.models[1]);
  EXPECT_FLOAT_EQ(outcome.models[0][0], -0.5F * (11 / 2.0F + 9));
  EXPECT_FLOAT_EQ(outcome.models[0][1], -0.5F * (20 / 2.0F));
  for (const record::RankRecord& record : outcome.run.ranks) EXPECT_EQ(record.journal.steps, 20U);
}

// A worker that is over keeps parts of its changes until all fragments have had their turn once more.
TEST(RoundLength, FragmentsOfWorkersThatAreOverAreStillAveraged) {
  sim::Simulation simulation = with_slow_rank({{"period", "10"},
                                               {"period-by", "speed"},
                                               {"outer", "nesterov"},
                                               {"outer-lr", "1"},
                                               {"outer-momentum", "0"},
                                               {"fragments", "2"}},
                                              2, 2);
  simulation.workload = testing::signatures(2);
  simulation.optimizer.learning_rate = 0.5;
  simulation.steps = 20;
  const auto outcome = run_to_end(simulation);
  EXPECT_EQ(outcome.models[0], outcome.models[1]);
  EXPECT_FLOAT_EQ(outcome.models[0][1], -0.5F * (20 / 2.0F));
}

TEST(RoundLength, EqualWorkersMakeEqualSteps) {
  sim::Simulation simulation = with_slow_rank({{"period", "7"}, {"period-by", "speed"}}, 4, 1);
  simulation.steps = 50;
  const auto outcome = run_to_end(simulation);
  EXPECT_EQ(outcome.run.consensus_distance, 0);
  const Duration computing = outcome.run.ranks[0].journal.computing;
  EXPECT_LT(seconds_of(outcome.run.duration), 1.001 * seconds_of(computing));
}

TEST(RoundLength, ADelayIsRefused) {
  const OptionTexts options{{"period", "10"}, {"period-by", "speed"}, {"outer", "nesterov"}, {"delay", "2"}};
  EXPECT_EQ(testing::refusal([&] { simulate(simulation_of("local-sgd", options, 2)); }),
            "strategy local-sgd, option delay: 2; allowed with period-by=speed: 0, since a round has no step "
            "that all workers make");
}

}  // namespace
}  // namespace starling::strategy
