#include "starling/strategy/matcha.h"

#include <gtest/gtest.h>

#include <vector>

#include "starling/core/error.h"
#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

using coordination::make_graph;
using testing::run_to_end;
using testing::simulation_of;

std::uint64_t bytes_of_all(const sim::Simulation& simulation) {
  std::uint64_t bytes = 0;
  for (const record::RankRecord& record : sim::simulate(simulation).ranks) bytes += record.bytes_sent;
  return bytes;
}

// Models of step t are mixed with the links of step t, then the gradient taken at the own model is applied.
TEST(Matcha, FollowsItsEquation) {
  constexpr int kWorkers = 4;
  sim::Simulation simulation = simulation_of("matcha", {{"graph", "ring"}}, kWorkers);
  simulation.workload = testing::signatures(kWorkers);
  simulation.optimizer.learning_rate = 1;
  simulation.steps = 12;
  const coordination::Graph ring = make_graph("ring", kWorkers);
  MatchaRule rule(ring, 0.5);
  std::vector<std::vector<double>> expected(kWorkers, std::vector<double>(kWorkers));
  for (std::uint64_t step = 1; step <= simulation.steps; ++step) {
    const auto before = expected;
    for (std::size_t i = 0; i < kWorkers; ++i) {
      for (const Link& link : rule.links(ring, static_cast<Rank>(i), step)) {
        const auto& other = before[static_cast<std::size_t>(link.rank)];
        for (std::size_t k = 0; k < kWorkers; ++k) expected[i][k] += link.weight * (other[k] - before[i][k]);
      }
      expected[i][i] -= 1;
    }
  }
  const auto models = run_to_end(simulation).models;
  for (std::size_t i = 0; i < kWorkers; ++i) {
    for (std::size_t k = 0; k < kWorkers; ++k) EXPECT_NEAR(models[i][k], expected[i][k], 1e-5);
  }
}

TEST(Matcha, WithTheWholeBudgetIsDpsgdWithLaplacianWeights) {
  for (const char* const graph : {"ring", "torus", "exponential"}) {
    SCOPED_TRACE(graph);
    sim::Simulation simulation = simulation_of("matcha", {{"graph", graph}, {"budget", "1"}}, 8);
    simulation.spread = 1;
    simulation.steps = 40;
    for (cluster::WorkerSpec& worker : simulation.cluster.workers) {
      worker.jitter = {cluster::Jitter::Kind::kLognormal, 0.3, 0};
    }
    const testing::Outcome matcha = run_to_end(simulation);
    simulation.strategy = &find_strategy("dpsgd");
    simulation.options = {{"graph", graph}, {"weights", "laplacian"}};
    const testing::Outcome dpsgd = run_to_end(simulation);
    EXPECT_EQ(matcha.models, dpsgd.models);
    EXPECT_EQ(matcha.run.duration, dpsgd.run.duration);
    EXPECT_EQ(matcha.run.events, dpsgd.run.events);
  }
}

TEST(Matcha, SendsWhatItsBudgetAllows) {
  for (const char* const graph : {"ring", "torus", "exponential"}) {
    sim::Simulation simulation = simulation_of("dpsgd", {{"graph", graph}}, 8);
    simulation.steps = 400;
    const auto all = static_cast<double>(bytes_of_all(simulation));
    simulation.strategy = &find_strategy("matcha");
    for (const char* const budget : {"0.5", "0.25"}) {
      simulation.options["budget"] = budget;
      EXPECT_NEAR(static_cast<double>(bytes_of_all(simulation)) / all, std::stod(budget), 0.05) << graph;
    }
  }
}

// Worker 1 is four times slower. Until the first step in which their link is active, worker 0 does not
// notice.
TEST(Matcha, WaitsForNobodyWithoutAnActiveLink) {
  const coordination::Graph pair = make_graph("ring", 2);
  MatchaRule rule(pair, 0.1);
  std::uint64_t first_active = 1;
  while (rule.links(pair, 0, first_active).empty()) ++first_active;
  ASSERT_GT(first_active, 2U);
  sim::Simulation simulation = simulation_of("matcha", {{"budget", "0.1"}}, 2);
  simulation.cluster.workers[1].speed = 0.25;
  simulation.steps = first_active - 1;
  const record::RunRecord alone = sim::simulate(simulation);
  EXPECT_EQ(alone.ranks[0].bytes_sent, 0U);
  EXPECT_EQ(alone.ranks[0].journal.waiting, Duration(0));
  EXPECT_LT(seconds_of(alone.ranks[0].end - Time()), 0.3 * seconds_of(alone.ranks[1].end - Time()));
  simulation.steps = first_active;
  const record::RunRecord met = sim::simulate(simulation);
  EXPECT_EQ(met.ranks[0].bytes_sent, 16U * 4);
  EXPECT_GT(met.ranks[0].journal.waiting, Duration(0));
}

// Every other worker of a ring dies; those that are left make the same plan for a ring of four, and agree.
TEST(Matcha, TheRingClosesOverTheLost) {
  for (const char* const budget : {"0.5", "1"}) {
    sim::Simulation simulation = simulation_of("matcha", {{"graph", "ring"}, {"budget", budget}}, 8);
    simulation.optimizer.learning_rate = 0;
    simulation.spread = 1;
    simulation.steps = 100;
    for (const Rank rank : {0, 2, 4, 6}) {
      const Time at(std::chrono::milliseconds(100 + 300 * rank));
      simulation.cluster.faults.push_back({.kind = cluster::Fault::Kind::kKill, .subject = rank, .from = at});
    }
    const testing::Outcome outcome = run_to_end(simulation);
    for (const std::size_t rank : {3U, 5U, 7U}) {
      EXPECT_EQ(outcome.run.ranks[rank].journal.steps, 100U);
      for (std::size_t i = 0; i < outcome.models[1].size(); ++i) {
        EXPECT_NEAR(outcome.models[rank][i], outcome.models[1][i], 1e-4);
      }
    }
  }
}

TEST(Matcha, RefusesABudgetOutOfRange) {
  EXPECT_THROW(sim::simulate(simulation_of("matcha", {{"budget", "0"}}, 4)), InvalidArgument);
  EXPECT_THROW(sim::simulate(simulation_of("matcha", {{"budget", "1.5"}}, 4)), InvalidArgument);
  EXPECT_THROW(sim::simulate(simulation_of("matcha", {{"graph", "star"}}, 4)), InvalidArgument);
}

}  // namespace
}  // namespace starling::strategy
