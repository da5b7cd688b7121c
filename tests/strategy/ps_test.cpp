#include "starling/strategy/ps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "starling/core/error.h"
#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

using testing::Outcome;
using testing::run_to_end;
using testing::simulation_of;

sim::Simulation with_slow_worker(const OptionTexts& options, int workers, double factor) {
  sim::Simulation simulation = simulation_of("ps", options, workers);
  simulation.cluster.workers[0].speed = 1 / factor;
  return simulation;
}

// How many steps the fastest worker is ahead of the slowest, at every instant: c_i counts the steps that
// worker i has computed.
class GapWatcher final : public sim::Observer {
 public:
  explicit GapWatcher(int workers) : computed_(static_cast<std::size_t>(workers)) {}
  void step_begins(Rank worker, std::uint64_t, Time, Models) override {
    largest_at_begin = std::max(largest_at_begin, ahead(worker));
  }
  void step_computed(Rank worker, std::uint64_t step, Time) override {
    computed_[static_cast<std::size_t>(worker)] = step;
    largest = std::max(largest, ahead(worker));
  }
  std::uint64_t largest = 0;
  std::uint64_t largest_at_begin = 0;

 private:
  std::uint64_t ahead(Rank worker) const {
    return computed_[static_cast<std::size_t>(worker)] -
           *std::min_element(computed_.begin(), computed_.end());
  }
  std::vector<std::uint64_t> computed_;
};

TEST(ParameterServer, SspKeepsItsBoundAtEveryInstant) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const int staleness = random.between(1, 5), workers = random.between(2, 6);
    sim::Simulation simulation =
        with_slow_worker({{"mode", "ssp"}, {"staleness", std::to_string(staleness)}}, workers, 4);
    for (auto& worker : simulation.cluster.workers)
      worker.jitter = {cluster::Jitter::Kind::kLognormal, 0.4, 0};
    simulation.seed = seed;
    simulation.steps = 30;
    GapWatcher watcher(workers);
    simulation.observer = &watcher;
    sim::simulate(simulation);
    // A step begins only while fewer than s ahead; the fast ones do get that far.
    EXPECT_EQ(watcher.largest_at_begin, static_cast<std::uint64_t>(staleness - 1)) << "seed " << seed;
    EXPECT_EQ(watcher.largest, static_cast<std::uint64_t>(staleness)) << "seed " << seed;
  }
}

TEST(ParameterServer, AspDoesMoreStepsInTheSameTime) {
  const auto steps_of = [](const OptionTexts& options) {
    sim::Simulation simulation = with_slow_worker(options, 8, 4);
    simulation.steps = 1'000'000;
    simulation.until = Time(std::chrono::seconds(20));
    std::uint64_t steps = 0;
    for (const auto& record : sim::simulate(simulation).ranks) steps += record.journal.steps;
    return steps;
  };
  const std::uint64_t bsp = steps_of({}), ssp = steps_of({{"mode", "ssp"}}),
                      asp = steps_of({{"mode", "asp"}});
  EXPECT_GT(ssp, bsp);
  EXPECT_GT(asp, 2 * ssp);
}

// With one signature per worker, a version's change of the model shows whose gradients it was made of.
class VersionWatcher final : public sim::Observer {
 public:
  void step_begins(Rank, std::uint64_t, Time, Models models) override {
    for (const auto& model : models) versions.insert({model.begin(), model.end()});
  }
  std::set<std::vector<float>> versions;
};

TEST(ParameterServer, BackupWorkersUseExactlyTheFirstGradientsOfAVersion) {
  constexpr int kWorkers = 6, kBackup = 2;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    sim::Simulation simulation = simulation_of("ps", {{"backup", std::to_string(kBackup)}}, kWorkers);
    simulation.workload = testing::signatures(kWorkers);
    simulation.optimizer.learning_rate = 1;
    simulation.steps = 20;
    simulation.seed = seed;
    for (auto& worker : simulation.cluster.workers)
      worker.jitter = {cluster::Jitter::Kind::kExponential, 0, 0};
    simulation.until = Time(std::chrono::seconds(1));  // no worker leaves before the others
    VersionWatcher watcher;
    simulation.observer = &watcher;
    sim::simulate(simulation);
    std::vector<std::vector<float>> models(watcher.versions.begin(), watcher.versions.end());
    std::sort(models.begin(), models.end(), [](const auto& a, const auto& b) {
      double sum_a = 0, sum_b = 0;
      for (const float x : a) sum_a += static_cast<double>(x);
      for (const float x : b) sum_b += static_cast<double>(x);
      return sum_a > sum_b;
    });
    ASSERT_GT(models.size(), 3U);
    for (std::size_t version = 1; version < models.size(); ++version) {
      int gradients = 0;
      for (std::size_t i = 0; i < kWorkers; ++i) {
        const float change = models[version - 1][i] - models[version][i];
        if (change == 0) continue;
        EXPECT_EQ(change, 0.25F);  // a gradient counts once, with the weight 1 / (n - b)
        ++gradients;
      }
      EXPECT_EQ(gradients, kWorkers - kBackup) << "seed " << seed << ", version " << version;
    }
  }
}

TEST(ParameterServer, BspEqualsAllReduceUpToRounding) {
  sim::Simulation simulation = simulation_of("ps", {}, 4);
  simulation.optimizer.momentum = 0.9;
  const Outcome server = run_to_end(simulation);
  simulation.strategy = &find_strategy("allreduce");
  const Outcome all = run_to_end(simulation);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_NEAR(server.models[0][i], all.models[0][i], 1e-5 * (1 + std::abs(all.models[0][i])));
  }
  EXPECT_EQ(server.run.consensus_distance, 0);
}

TEST(ParameterServer, AspCountsStaleness) {
  const record::RunRecord equal = sim::simulate(simulation_of("ps", {{"mode", "asp"}}, 4));
  const record::Staleness& staleness = equal.ranks[4].journal.staleness;
  EXPECT_EQ(staleness.count, 40U);
  EXPECT_GT(staleness.mean(), 1);  // equal workers push in turn: up to three others are in between
  EXPECT_LE(staleness.max, 6U);
  const record::RunRecord sync = sim::simulate(simulation_of("ps", {}, 4));
  EXPECT_EQ(sync.ranks[4].journal.staleness.max, 0U);
}

// Worker 0 pushes at 3.5 and 7 steps of worker 1, which makes four. Elements sum up the rates of each worker.
TEST(ParameterServer, AspDividesTheRateByOnePlusTheStaleness) {
  const auto sums_of = [](const OptionTexts& options) {
    sim::Simulation simulation = with_slow_worker(options, 2, 3.5);
    simulation.workload = testing::signatures(2);
    simulation.optimizer.learning_rate = 1;
    simulation.steps = 100;
    simulation.until = Time(std::chrono::milliseconds(400));
    return run_to_end(simulation).models[0];
  };
  EXPECT_EQ(sums_of({{"mode", "asp"}}), (std::vector<float>{-(1.0F / 4 + 1.0F / 2), -(3 + 1.0F / 2)}));
  EXPECT_EQ(sums_of({{"mode", "asp"}, {"scale", "none"}}), (std::vector<float>{-2, -4}));
}

// The plain rule does not stand this rate and momentum; bsp does.
TEST(ParameterServer, AspStandsTheRateOfBsp) {
  const auto loss_of = [](const OptionTexts& options, std::uint64_t seed) {
    sim::Simulation simulation = simulation_of("ps", options, 8);
    simulation.optimizer.learning_rate = 0.1;
    simulation.optimizer.momentum = 0.9;
    simulation.steps = 100;
    simulation.seed = seed;
    for (auto& worker : simulation.cluster.workers)
      worker.jitter = {cluster::Jitter::Kind::kLognormal, 0.3, 0};
    return *sim::simulate(simulation).final_train_loss;
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_LT(loss_of({}, seed), 0.1);
    EXPECT_LT(loss_of({{"mode", "asp"}}, seed), 0.1) << "seed " << seed;
    EXPECT_FALSE(loss_of({{"mode", "asp"}, {"scale", "none"}}, seed) < 1) << "seed " << seed;
  }
}

TEST(ParameterServer, AWorkerMayComeLater) {
  for (const char* mode : {"bsp", "asp", "ssp"}) {
    sim::Simulation simulation = simulation_of("ps", {{"mode", mode}}, 4);
    simulation.cluster.workers[2].joins = Time(std::chrono::milliseconds(450));
    const record::RunRecord run = sim::simulate(simulation);
    for (int rank = 0; rank < 4; ++rank)
      EXPECT_EQ(run.ranks[static_cast<std::size_t>(rank)].journal.steps, 10U);
    EXPECT_GE(run.ranks[2].end, Time(std::chrono::milliseconds(1450)));
    EXPECT_LT(*run.final_train_loss, 1);
  }
}

TEST(ParameterServer, BackupsMustLeaveSomeone) {
  EXPECT_THROW(sim::simulate(simulation_of("ps", {{"backup", "4"}}, 4)), InvalidArgument);
}

TEST(Joining, IsRefusedWhereItIsNotSupported) {
  sim::Simulation simulation = simulation_of("allreduce", {}, 4);
  simulation.cluster.workers[2].joins = Time(std::chrono::seconds(1));
  try {
    sim::simulate(simulation);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("worker 2 joins later"));
  }
}

}  // namespace
}  // namespace starling::strategy
