// Elastic averaging in whole simulated runs: when exchanges take place, and what they preserve.
#include "starling/strategy/easgd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

using testing::Models;
using testing::Outcome;
using testing::run_to_end;
using testing::simulation_of;

struct Solver {
  const char* strategy;
  OptionTexts options;
};

std::vector<Solver> solvers() {
  return {{"easgd", {{"centre", "shared"}}},
          {"easgd", {{"centre", "shared"}, {"overlap", "on"}}},
          {"easgd", {{"centre", "sharded"}}},
          {"easgd", {{"centre", "server"}}},
          {"easgd", {{"order", "round-robin"}, {"centre", "shared"}}},
          {"easgd", {{"order", "round-robin"}, {"centre", "sharded"}}},
          {"easgd", {{"order", "sync"}}},
          {"easgd", {{"order", "sync"}, {"overlap", "off"}}},
          {"ea-wild", {{"centre", "shared"}}}};
}

std::string text_of(const Solver& which) {
  return concat(which.strategy, " ", options_text(find_strategy(which.strategy), which.options));
}

TEST(Easgd, AnAlphaOfZeroLeavesEveryWorkerAlone) {
  for (Solver which : solvers()) {
    SCOPED_TRACE(text_of(which));
    which.options["alpha"] = "0";
    sim::Simulation simulation = simulation_of(which.strategy, which.options, 4);
    simulation.optimizer.momentum = 0.9;
    const Models models = run_to_end(simulation).models;
    simulation.strategy = &testing::alone();
    simulation.options.clear();
    EXPECT_EQ(models, run_to_end(simulation).models);
  }
}

// Without gradients the sum of centre and models stays, so all meet at its share.
TEST(Easgd, WithoutGradientsAllMeetAtTheMeanOfCentreAndModels) {
  for (const Solver& which : solvers()) {
    SCOPED_TRACE(text_of(which));
    sim::Simulation simulation = simulation_of(which.strategy, which.options, 4);
    simulation.optimizer.learning_rate = 0;
    simulation.spread = 1;
    simulation.steps = 300;
    const Models met = run_to_end(simulation).models;
    simulation.strategy = &testing::alone();
    simulation.options.clear();
    const Models start = run_to_end(simulation).models;
    simulation.spread = 0;
    const std::vector<float> centre = run_to_end(simulation).models.front();
    for (std::size_t i = 0; i < centre.size(); ++i) {
      double sum = static_cast<double>(centre[i]);
      for (const auto& model : start) sum += static_cast<double>(model[i]);
      for (const auto& model : met) EXPECT_NEAR(model[i], sum / 5, 1e-5);
    }
  }
}

TEST(Easgd, OneWorkerMakesTheSameStepsWithAndWithoutLocks) {
  const OptionTexts shared{{"centre", "shared"}};
  const Models locked = run_to_end(simulation_of("easgd", shared, 1)).models;
  EXPECT_EQ(locked, run_to_end(simulation_of("ea-wild", shared, 1)).models);
  EXPECT_NE(locked, run_to_end(simulation_of("allreduce", {}, 1)).models) << "the centre pulls";
}

// Between two exchanges of a worker each of the others has one.
TEST(Easgd, InRoundRobinEverybodyElseComesBetween) {
  for (const char* centre : {"shared", "sharded", "server"}) {
    SCOPED_TRACE(centre);
    sim::Simulation simulation = simulation_of("easgd", {{"order", "round-robin"}, {"centre", centre}}, 4);
    for (std::size_t i = 0; i < 4; ++i) {
      simulation.cluster.workers[i].speed = 1 + static_cast<double>(i);
      simulation.cluster.workers[i].jitter = {cluster::Jitter::Kind::kLognormal, 0.5, 0};
    }
    record::Staleness staleness;
    for (const record::RankRecord& rank : sim::simulate(simulation).ranks)
      staleness.merge(rank.journal.staleness);
    EXPECT_GT(staleness.count, 30U);
    EXPECT_EQ(staleness.max, 3U);
    EXPECT_EQ(staleness.sum, 3 * staleness.count);
  }
}

// The bits of the synchronous order depend on no speed.
TEST(Easgd, SynchronousBitsDoNotDependOnTiming) {
  sim::Simulation simulation = simulation_of("easgd", {{"order", "sync"}}, 4);
  const Models equal = run_to_end(simulation).models;
  for (std::size_t i = 0; i < 4; ++i) simulation.cluster.workers[i].speed = 1 / (1 + static_cast<double>(i));
  EXPECT_EQ(equal, run_to_end(simulation).models);
}

// Eight workers, one of which is four times slower, have 7.25 times the speed of one.
TEST(Easgd, AsynchronousSolversUseAllSpeedThereIs) {
  std::vector<Solver> asynchronous{{"async-sgd", {}}, {"hogwild", {}}};
  for (const Solver& which : solvers()) {
    if (which.options.count("order") == 0) asynchronous.push_back(which);
  }
  for (const Solver& which : asynchronous) {
    SCOPED_TRACE(text_of(which));
    sim::Simulation simulation = simulation_of(which.strategy, which.options, 8);
    simulation.cluster.workers[2].speed = 0.25;
    simulation.steps = 1'000'000;
    simulation.until = Time(std::chrono::seconds(100));
    std::uint64_t steps = 0;
    for (const record::RankRecord& rank : sim::simulate(simulation).ranks) steps += rank.journal.steps;
    const double fast = 100 / simulation.step_seconds;
    EXPECT_GE(static_cast<double>(steps), 0.95 * 7.25 * fast);
    EXPECT_LE(static_cast<double>(steps), 7.25 * fast + 8);
  }
}

// A lost worker's slice of the centre goes on elsewhere: the others still meet.
TEST(Easgd, TheCentreSurvivesItsOwners) {
  sim::Simulation simulation = simulation_of("easgd", {{"centre", "sharded"}}, 4);
  simulation.optimizer.learning_rate = 0;
  simulation.spread = 1;
  simulation.steps = 300;
  for (const Rank victim : {0, 2}) {
    simulation.cluster.faults.push_back({.kind = cluster::Fault::Kind::kKill,
                                         .subject = victim,
                                         .from = Time(std::chrono::milliseconds(250 + victim))});
  }
  const Outcome outcome = run_to_end(simulation);
  for (const std::size_t rank : {1U, 3U}) EXPECT_EQ(outcome.run.ranks[rank].journal.steps, 300U);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(outcome.models[1][i], outcome.models[3][i], 1e-5);
}

}  // namespace
}  // namespace starling::strategy
