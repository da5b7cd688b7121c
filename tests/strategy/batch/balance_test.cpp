#include "starling/strategy/batch/balance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "starling/core/error.h"
#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

using testing::run_to_end;
using testing::simulation_of;
using Numbers = std::vector<double>;

Numbers without_limits(const Numbers& seconds, double total) {
  return divide_batch(seconds, Numbers(seconds.size()), total);
}

TEST(DivideBatch, IsInProportionToSpeed) {
  EXPECT_EQ(without_limits({1, 1, 1, 1}, 64), (Numbers{16, 16, 16, 16}));
  EXPECT_EQ(without_limits({4, 1, 1, 1}, 65), (Numbers{5, 20, 20, 20}));
  EXPECT_EQ(without_limits({1, 0, 2}, 30), (Numbers{20, 0, 10}));  // the second is lost
}

TEST(DivideBatch, GivesWholeSamplesAndAllOfThem) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    Numbers seconds(static_cast<std::size_t>(random.between(1, 12)));
    for (double& each : seconds) each = 0.01 + 10 * random.uniform();
    const double total = static_cast<double>(seconds.size()) * random.between(1, 40);
    const Numbers parts = without_limits(seconds, total);
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), 0.0), total);
    for (const double part : parts) {
      EXPECT_EQ(part, std::floor(part));
      EXPECT_GE(part, 1);
    }
  }
}

TEST(DivideBatch, KeepsLimits) {
  EXPECT_EQ(divide_batch({1, 1, 1, 1}, {4, 0, 0, 0}, 64), (Numbers{4, 20, 20, 20}));
  EXPECT_EQ(divide_batch({1, 1}, {4, 4}, 64), (Numbers{4, 4}));  // no more than they can take
  EXPECT_EQ(divide_batch({100, 1, 1}, {0, 10, 0}, 30), (Numbers{1, 10, 19}));
}

TEST(BalanceRules, ReadsLimits) {
  const auto rules_of = [](const std::string& text) {
    const std::vector<OptionSpec> specs = balanced({});
    return balance_rules(Options::parse(specs, "x", {{"balance", "speed"}, {"max-batch", text}}), "x", 4);
  };
  EXPECT_EQ(rules_of("none").most, (Numbers{0, 0, 0, 0}));
  EXPECT_EQ(rules_of("64").most, (Numbers{64, 64, 64, 64}));
  EXPECT_EQ(rules_of("64,2:16").most, (Numbers{64, 64, 16, 64}));
  for (const char* wrong : {"", "0", "-3", "x", "4:16", "1:2:3", "1:"}) {
    EXPECT_THROW(rules_of(wrong), InvalidArgument) << wrong;
  }
}

std::uint64_t samples_in(const record::RunRecord& run) {
  std::uint64_t samples = 0;
  for (const auto& rank : run.ranks) samples += rank.journal.samples;
  return samples;
}

sim::Simulation with_slow_worker(const std::string& strategy, OptionTexts options) {
  options["balance"] = "speed";
  sim::Simulation simulation = simulation_of(strategy, options, 8);
  simulation.cluster = testing::instant_cluster(8);
  simulation.cluster.workers[0].speed = 0.25;
  simulation.step_seconds = 1;
  simulation.steps = 60;
  return simulation;
}

// The first step takes 4 s; then the parts are known, to whole samples. Together the workers have a speed of
// 7.25, so a step could take 8 / 7.25 s.
TEST(BatchBalance, NobodyWaitsForASlowWorker) {
  for (const auto& [strategy, options] : {std::pair<std::string, OptionTexts>{"allreduce", {}},
                                          {"allreduce", {{"schedule", "ddp"}}},
                                          {"allreduce", {{"schedule", "priority"}}},
                                          {"dear", {}},
                                          {"local-sgd", {{"period", "4"}}},
                                          {"ps", {}},
                                          {"ps", {{"server", "beside"}}}}) {
    const sim::Simulation simulation = with_slow_worker(strategy, options);
    const record::RunRecord run = sim::simulate(simulation);
    EXPECT_LT(seconds_of(run.duration), 4 + 59 * 8 / 7.25 * 1.08) << strategy;
    EXPECT_EQ(samples_in(run), 60 * 8 * simulation.workload->batch()) << strategy;
  }
}

// After a change the parts follow within a few steps: the run is a little longer than if they had been right.
TEST(BatchBalance, FollowsAChangeOfSpeed) {
  sim::Simulation simulation = with_slow_worker("allreduce", {});
  simulation.cluster.workers[0].speed = 1;
  simulation.steps = 100;
  simulation.cluster.faults.push_back({.kind = cluster::Fault::Kind::kSlow,
                                       .subject = 3,
                                       .from = Time(std::chrono::seconds(40)),
                                       .to = Time(kForever),
                                       .factor = 4});
  const double seconds = seconds_of(sim::simulate(simulation).duration);
  EXPECT_LT(seconds, 40 + 60 * 8 / 7.25 * 1.08 + 5 * 4);
  EXPECT_GT(seconds, 40 + 60 * 8 / 7.25 * 0.98);
}

// An update is the sum over all samples by their number, whoever computed them: with gradients that do not
// depend on the sample, the mean of the workers' by their parts.
TEST(BatchBalance, WeighsGradientsBySamples) {
  for (const std::string strategy : {"allreduce", "ps"}) {
    sim::Simulation simulation = with_slow_worker(strategy, {});
    simulation.workload = testing::signatures(8, 16);
    simulation.optimizer.learning_rate = 1;
    const testing::Outcome outcome = run_to_end(simulation);
    for (const std::vector<float>& model : outcome.models) EXPECT_EQ(model, outcome.models[0]);
    EXPECT_EQ(samples_in(outcome.run), 60U * 8 * 16);
    for (std::size_t i = 0; i < 8; ++i) {
      const auto samples = static_cast<double>(outcome.run.ranks[i].journal.samples);
      EXPECT_NEAR(outcome.models[0][i], -samples / (8 * 16), 1e-3) << strategy;
    }
  }
}

TEST(BatchBalance, TheOthersTakeThePartOfTheDead) {
  for (const std::string strategy : {"allreduce", "ps"}) {
    sim::Simulation simulation = with_slow_worker(strategy, {});
    simulation.cluster.faults.push_back(
        {.kind = cluster::Fault::Kind::kKill, .subject = 5, .from = Time(std::chrono::milliseconds(20500))});
    const record::RunRecord run = sim::simulate(simulation);
    EXPECT_EQ(run.ranks[0].journal.steps, 60U) << strategy;
    EXPECT_GE(samples_in(run), 55 * 8 * simulation.workload->batch()) << strategy;
  }
}

// It has no part in its first step. Then the parts are as if it had always been there.
TEST(BatchBalance, AWorkerThatJoinsGetsItsPart) {
  sim::Simulation simulation = with_slow_worker("ps", {});
  simulation.cluster.workers[5].joins = Time(std::chrono::seconds(20));
  simulation.steps = 1000;
  simulation.until = Time(std::chrono::seconds(60));
  const record::RunRecord run = sim::simulate(simulation);
  const auto batch = static_cast<double>(simulation.workload->batch());
  EXPECT_NEAR(static_cast<double>(run.ranks[5].journal.samples) / batch, 40, 3);
  EXPECT_NEAR(static_cast<double>(run.ranks[4].journal.samples) / batch, 60, 5);
}

// Only bytes and times exist there, and the parts all the same.
TEST(BatchBalance, WorksOnReplays) {
  for (const std::string strategy : {"allreduce", "ps"}) {
    sim::Simulation simulation = with_slow_worker(strategy, {});
    simulation.workload = sim::make_workload("replay:resnet50", {.workers = 8}, "workload");
    const record::RunRecord run = sim::simulate(simulation);
    EXPECT_LT(seconds_of(run.duration), 4 + 59 * 8 / 7.25 * 1.08) << strategy;
  }
}

TEST(BatchBalance, RefusesToDropAPart) {
  EXPECT_THROW(sim::simulate(with_slow_worker("ps", {{"backup", "1"}})), InvalidArgument);
  EXPECT_THROW(sim::simulate(with_slow_worker("ps", {{"mode", "asp"}})), InvalidArgument);
}

}  // namespace
}  // namespace starling::strategy
