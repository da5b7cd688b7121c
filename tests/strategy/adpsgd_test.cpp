#include "starling/strategy/adpsgd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "starling/record/wait_analysis.h"
#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

using testing::run_to_end;
using testing::simulation_of;

const std::vector<OptionTexts> kGraphs{{}, {{"graph", "any"}}};
constexpr std::uint64_t kModelBytes = 16 * sizeof(float);  // of simulation_of

// Worker i's model loses 1 at element i in each of its steps, so all numbers are known.
sim::Simulation counting(const OptionTexts& options, int workers, std::uint64_t steps) {
  sim::Simulation simulation = simulation_of("adpsgd", options, workers);
  simulation.workload = testing::signatures(workers);
  simulation.optimizer.learning_rate = 1;
  simulation.steps = steps;
  return simulation;
}

// Random speeds, jitter, hosts and links: an exchange takes from nothing to several steps.
void randomize_adpsgd(sim::Simulation& simulation, std::uint64_t seed) {
  Random random(seed);
  simulation.seed = seed;
  const int workers = static_cast<int>(simulation.cluster.workers.size());
  for (cluster::WorkerSpec& worker : simulation.cluster.workers) {
    worker.host = random.between(0, workers - 1);
    worker.speed = std::exp2(random.uniform() * 4 - 2);
    if (random.chance(0.5)) worker.jitter = {cluster::Jitter::Kind::kLognormal, 0.5, 0};
  }
  for (cluster::HostSpec& host : simulation.cluster.hosts) {
    host.outside = {std::pow(10, 2 + random.uniform() * 5),
                    std::chrono::milliseconds(random.between(0, 200))};
  }
}

sim::Simulation random_adpsgd_simulation(const OptionTexts& options, std::uint64_t seed) {
  Random random(seed + 7'000'000);
  sim::Simulation simulation = simulation_of("adpsgd", options, random.between(2, 8));
  simulation.steps = static_cast<std::uint64_t>(random.between(1, 12));
  randomize_adpsgd(simulation, seed);
  return simulation;
}

// Step 1 makes -e_0 and -e_1, step 2 averages them and then applies its gradients.
TEST(Adpsgd, APairHasTheExactMeanOnBothSides) {
  for (const OptionTexts& options : kGraphs) {
    const auto models = run_to_end(counting(options, 2, 2)).models;
    EXPECT_EQ(models[0], (std::vector<float>{-1.5F, -0.5F}));
    EXPECT_EQ(models[1], (std::vector<float>{-0.5F, -1.5F}));
  }
}

// Both average before their gradients are applied: dpsgd on one edge, bit for bit.
TEST(Adpsgd, TwoEqualWorkersAverageTheirModelsEveryStep) {
  sim::Simulation simulation = simulation_of("adpsgd", {}, 2);
  simulation.optimizer.momentum = 0.9;
  simulation.steps = 50;
  const auto models = run_to_end(simulation).models;
  simulation.strategy = &find_strategy("dpsgd");
  EXPECT_EQ(models, run_to_end(simulation).models);
}

// Gradients are applied during exchanges, and workers finish while others ask them: nothing is lost and
// nothing counted twice. With so few exchanges every number is an exact float.
TEST(Adpsgd, TheSumOfTheModelsIsExact) {
  for (const OptionTexts& options : kGraphs) {
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
      Random random(seed);
      const int workers = random.between(2, 5);
      const int steps = random.between(1, 4);
      sim::Simulation simulation = counting(options, workers, static_cast<std::uint64_t>(steps));
      randomize_adpsgd(simulation, seed);
      const auto models = run_to_end(simulation).models;
      for (std::size_t i = 0; i < models.size(); ++i) {
        double sum = 0;
        for (const auto& model : models) sum += static_cast<double>(model[i]);
        ASSERT_EQ(sum, -steps) << "seed " << seed << ", element " << i;
      }
    }
  }
}

TEST(Adpsgd, EvenRanksAskOddOnesAndOnlyThese) {
  const record::RunRecord run = sim::simulate(simulation_of("adpsgd", {}, 8));
  std::uint64_t answers = 0;
  for (const record::RankRecord& record : run.ranks) {
    if (record.rank % 2 == 0) {
      EXPECT_EQ(record.bytes_sent, 10 * (8 + kModelBytes));
    } else {
      answers += record.bytes_sent;
    }
  }
  EXPECT_EQ(answers, 40 * (1 + kModelBytes));
}

// All others die at the start: the graph closes over them, and those that are left are one component.
TEST(Adpsgd, WhoeverIsLeftAveragesWithTheOthers) {
  for (const Group& left : {Group{1, 3, 5, 7}, Group{0, 2, 6}, Group{0, 7}, Group{2, 5, 7}}) {
    sim::Simulation simulation = simulation_of("adpsgd", {}, 8);
    simulation.optimizer.learning_rate = 0;
    simulation.spread = 1;
    simulation.steps = 100;
    for (Rank rank = 0; rank < 8; ++rank) {
      if (std::find(left.begin(), left.end(), rank) != left.end()) continue;
      simulation.cluster.faults.push_back(
          {.kind = cluster::Fault::Kind::kKill, .subject = rank, .from = Time{}});
    }
    const testing::Outcome outcome = testing::run_to_end(simulation);
    const std::vector<float>& first = outcome.models[static_cast<std::size_t>(left.front())];
    for (const Rank rank : left) {
      EXPECT_EQ(outcome.run.ranks[static_cast<std::size_t>(rank)].journal.steps, 100U);
      for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_NEAR(outcome.models[static_cast<std::size_t>(rank)][i], first[i], 1e-3);
      }
    }
  }
}

// A worker that is asked answers beside its computing.
TEST(Adpsgd, ASlowWorkerDelaysNobody) {
  for (const OptionTexts& options : kGraphs) {
    sim::Simulation simulation = simulation_of("adpsgd", options, 8);
    simulation.steps = 100;
    const record::RunRecord equal = sim::simulate(simulation);
    for (const Rank slow : {1, 2}) {
      simulation.cluster.workers.assign(8, {});
      for (int worker = 0; worker < 8; ++worker) {
        simulation.cluster.workers[static_cast<std::size_t>(worker)].host = worker;
      }
      simulation.cluster.workers[static_cast<std::size_t>(slow)].speed = 0.1;
      const record::RunRecord run = sim::simulate(simulation);
      for (std::size_t rank = 0; rank < 8; ++rank) {
        if (static_cast<Rank>(rank) == slow) continue;
        EXPECT_EQ(run.ranks[rank].journal.steps, 100U);
        EXPECT_EQ(run.ranks[rank].end, equal.ranks[rank].end) << rank << ", slow " << slow;
      }
    }
  }
}

// An exchange that takes longer than a step is waited for; that the partner computes meanwhile is no reason.
TEST(Adpsgd, WaitingForAnExchangeIsTransfer) {
  sim::Simulation simulation = simulation_of("adpsgd", {}, 2);
  simulation.cluster.workers[1].speed = 0.1;
  simulation.cluster.hosts[0].outside.bytes_per_second = kModelBytes / 0.2;  // a step takes 0.1 s
  const record::RunRecord run = sim::simulate(simulation);
  const record::RankTimes times = record::analyse_waits(run).ranks[0];
  EXPECT_GT(times.transferring, std::chrono::seconds(2));
  EXPECT_LT(times.waiting, times.transferring / 20);
}

// A deadlock throws.
TEST(Adpsgd, ThreeThousandClustersMakeAllTheirSteps) {
  for (const OptionTexts& options : kGraphs) {
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
      const sim::Simulation simulation = random_adpsgd_simulation(options, seed);
      for (const record::RankRecord& record : sim::simulate(simulation).ranks) {
        ASSERT_EQ(record.journal.steps, simulation.steps) << "seed " << seed << ", rank " << record.rank;
      }
    }
  }
}

TEST(Adpsgd, TheOthersGoOnWhoeverDiesWhenever) {
  for (const OptionTexts& options : kGraphs) {
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
      sim::Simulation simulation = random_adpsgd_simulation(options, seed);
      const auto whole = static_cast<double>(sim::simulate(simulation).duration.count());
      Random random(seed + 1'000'000);
      const int workers = static_cast<int>(simulation.cluster.workers.size());
      std::vector<bool> dies(static_cast<std::size_t>(workers));
      for (int death = random.between(1, workers - 1); death > 0; --death) {
        const Rank victim = random.between(0, workers - 1);
        dies[static_cast<std::size_t>(victim)] = true;
        simulation.cluster.faults.push_back(
            {.kind = cluster::Fault::Kind::kKill,
             .subject = victim,
             .from = Time(Duration(static_cast<Duration::rep>(random.uniform() * whole)))});
      }
      for (const record::RankRecord& record : sim::simulate(simulation).ranks) {
        if (dies[static_cast<std::size_t>(record.rank)]) continue;
        ASSERT_EQ(record.ended, "") << "seed " << seed;
        ASSERT_EQ(record.journal.steps, simulation.steps) << "seed " << seed << ", rank " << record.rank;
      }
    }
  }
}

}  // namespace
}  // namespace starling::strategy
