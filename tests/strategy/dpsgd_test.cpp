#include "starling/strategy/dpsgd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "starling/core/error.h"
#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

using testing::run_to_end;
using testing::simulation_of;

double distance_after(std::uint64_t steps, const OptionTexts& options, int workers) {
  sim::Simulation simulation = simulation_of("dpsgd", options, workers);
  simulation.optimizer.learning_rate = 0;
  simulation.spread = 1;
  simulation.steps = steps;
  return *sim::simulate(simulation).consensus_distance;
}

// After many steps only the slowest mode is left, so one step more shrinks the distance by the eigenvalue.
TEST(Dpsgd, ConsensusFallsAtTheRateOfTheSecondEigenvalue) {
  EXPECT_NEAR(distance_after(31, {}, 8) / distance_after(30, {}, 8), 0.80474, 1e-3);
  EXPECT_NEAR(distance_after(13, {}, 5) / distance_after(12, {}, 5), (1 + 2 * std::cos(2 * M_PI / 5)) / 3,
              2e-2);
  EXPECT_NEAR(
      distance_after(31, {{"weights", "laplacian"}}, 8) / distance_after(30, {{"weights", "laplacian"}}, 8),
      0.74452, 1e-3);
}

TEST(Dpsgd, CompleteGraphIsInConsensusAfterOneStep) {
  EXPECT_LT(distance_after(1, {{"graph", "complete"}}, 8), 1e-5);
}

// Models of step t are mixed, then the gradient taken at the own model of step t is applied.
TEST(Dpsgd, FollowsItsEquation) {
  constexpr int kWorkers = 4;
  sim::Simulation simulation = simulation_of("dpsgd", {}, kWorkers);
  simulation.workload = testing::signatures(kWorkers);
  simulation.optimizer.learning_rate = 1;
  simulation.steps = 2;
  const auto models = run_to_end(simulation).models;
  // Ring of four: x_i = -2 e_i would be without mixing; one mixing spreads the first gradient by thirds.
  EXPECT_NEAR(models[0][0], -1 - 1.0 / 3, 1e-6);
  EXPECT_NEAR(models[0][1], -1.0 / 3, 1e-6);
  EXPECT_NEAR(models[0][2], 0, 1e-6);
  EXPECT_NEAR(models[0][3], -1.0 / 3, 1e-6);
}

TEST(Dpsgd, AStragglerSlowsTheWholeRing) {
  sim::Simulation simulation = simulation_of("dpsgd", {}, 8);
  simulation.steps = 50;
  const Duration equal = sim::simulate(simulation).duration;
  simulation.cluster.workers[3].speed = 0.25;
  EXPECT_GT(sim::simulate(simulation).duration, 3.9 * equal);
}

// Of a ring of eight every other worker dies: nobody that is left has a neighbour of the old ring.
TEST(Dpsgd, TheRingClosesOverTheLost) {
  sim::Simulation simulation = simulation_of("dpsgd", {}, 8);
  simulation.optimizer.learning_rate = 0;
  simulation.spread = 1;
  simulation.steps = 60;
  for (const Rank rank : {0, 2, 4, 6}) {
    const Time at(std::chrono::milliseconds(100 + 300 * rank));
    simulation.cluster.faults.push_back({.kind = cluster::Fault::Kind::kKill, .subject = rank, .from = at});
  }
  const testing::Outcome outcome = run_to_end(simulation);
  for (const std::size_t rank : {3U, 5U, 7U}) {
    EXPECT_EQ(outcome.run.ranks[rank].journal.steps, 60U);
    for (std::size_t i = 0; i < outcome.models[1].size(); ++i) {
      EXPECT_NEAR(outcome.models[rank][i], outcome.models[1][i], 1e-4);
    }
  }
}

TEST(Dpsgd, ReadsAGraphFromAFile) {
  const std::string path = ::testing::TempDir() + "dpsgd_edges.txt";
  std::ofstream(path) << "# a path\n0 1\n1 2\n2 3\n";
  const auto run = sim::simulate(simulation_of("dpsgd", {{"graph", "file:" + path}}, 4));
  EXPECT_EQ(run.ranks[0].bytes_sent, 10U * 1 * 16 * 4);
  EXPECT_EQ(run.ranks[1].bytes_sent, 10U * 2 * 16 * 4);
  EXPECT_THROW(sim::simulate(simulation_of("dpsgd", {{"graph", "file:" + path}}, 5)), InvalidArgument);
  EXPECT_THROW(sim::simulate(simulation_of("dpsgd", {{"graph", "hypercube"}}, 5)), InvalidArgument);
  EXPECT_THROW(sim::simulate(simulation_of("dpsgd", {{"graph", "star"}}, 5)), InvalidArgument);
}

}  // namespace
}  // namespace starling::strategy
