#include "starling/strategy/allreduce.h"

#include <gtest/gtest.h>

#include "starling/core/error.h"
#include "starling/record/wait_analysis.h"
#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

using testing::run_to_end;
using testing::simulation_of;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

testing::Models models_of(const OptionTexts& options, int workers) {
  sim::Simulation simulation = simulation_of("allreduce", options, workers);
  simulation.workload = sim::make_workload("mlp", {.workers = workers}, "workload");
  simulation.optimizer.momentum = 0.9;
  return run_to_end(simulation).models;
}

const OptionTexts kSchedules[] = {{{"schedule", "wfbp"}},
                                  {{"schedule", "ddp"}, {"fusion", "100"}, {"window", "3"}},
                                  {{"schedule", "ddp"}, {"fusion", "1g"}},
                                  {{"schedule", "horovod"}, {"fusion", "1k"}},
                                  {{"schedule", "mgwfbp"}},
                                  {{"schedule", "priority"}, {"fusion", "64"}, {"window", "4"}}};

// Doubling sums element by element in the order of the ranks, wherever the vector is cut; with two workers
// every algorithm does.
TEST(Buckets, HaveTheBitsOfTheWhole) {
  for (const OptionTexts& schedule : kSchedules) {
    OptionTexts doubling = schedule;
    doubling["algorithm"] = "doubling";
    for (const int workers : {1, 2, 3, 5, 8}) {
      EXPECT_EQ(models_of(doubling, workers), models_of({{"algorithm", "doubling"}}, workers));
    }
    EXPECT_EQ(models_of(schedule, 2), models_of({}, 2));
  }
}

TEST(Buckets, LeaveAllModelsEqual) {
  for (const char* algorithm : {"ring", "halving"}) {
    for (OptionTexts schedule : kSchedules) {
      schedule["algorithm"] = algorithm;
      const auto models = models_of(schedule, 5);
      for (const auto& model : models) EXPECT_EQ(model, models.front());
    }
  }
}

sim::Simulation replay(const OptionTexts& options, int workers) {
  sim::Simulation simulation = simulation_of("allreduce", options, workers);
  simulation.workload = sim::make_workload("replay:resnet50", {.workers = workers}, "workload");
  simulation.steps = 4;
  return simulation;
}

double step_of(const sim::Simulation& simulation) {
  return seconds(sim::simulate(simulation).duration) / static_cast<double>(simulation.steps);
}

TEST(Buckets, TravelWhileTheWorkerComputes) {
  constexpr int kWorkers = 16;
  sim::Simulation computing = replay({}, kWorkers);
  computing.cluster = testing::instant_cluster(kWorkers);
  const double compute = step_of(computing);
  const double whole = step_of(replay({}, kWorkers));
  const double communicate = whole - compute;
  for (const char* schedule : {"wfbp", "ddp", "horovod", "mgwfbp", "priority"}) {
    const double step = step_of(replay({{"schedule", schedule}}, kWorkers));
    EXPECT_LT(step, whole - 0.4 * communicate) << schedule;
    EXPECT_GE(step, std::max(compute, communicate)) << schedule;
  }
  // The only bucket is ready at the very end; once the workers have to agree on it.
  const OptionTexts one{{"schedule", "ddp"}, {"fusion", "1g"}, {"first", "1g"}};
  EXPECT_NEAR(step_of(replay(one, kWorkers)), whole, 1e-3);
}

// Transfers that overlap with the computing are not waiting; those after it are, because of the slow worker.
TEST(Buckets, TheRecordTellsWhoIsWaitedFor) {
  sim::Simulation simulation = replay({{"schedule", "ddp"}}, 4);
  simulation.cluster.workers[2].speed = 0.5;
  const record::RunRecord run = sim::simulate(simulation);
  const record::WaitAnalysis waits = record::analyse_waits(run);
  EXPECT_EQ(waits.most_waited_for, 2);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const record::RankTimes& times = waits.ranks[rank];
    EXPECT_LE(times.computing + times.waiting + times.transferring, run.duration);
    if (rank == 2) continue;
    // The slow worker needs twice the time. Meanwhile its first buckets arrive; that counts as transfer.
    EXPECT_GT(times.waiting, times.computing / 2);
    EXPECT_EQ(times.most_waited_for, 2);
  }
  EXPECT_LT(waits.ranks[2].waiting, run.duration / 100);
}

TEST(Buckets, OfNothingAreRefused) {
  EXPECT_THROW(sim::simulate(simulation_of("allreduce", {{"schedule", "ddp"}, {"fusion", "0"}}, 2)),
               InvalidArgument);
}

}  // namespace
}  // namespace starling::strategy
