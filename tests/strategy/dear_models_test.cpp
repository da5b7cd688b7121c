// Models of any shape, and how they look while a schedule has transfers in progress.
#include <gtest/gtest.h>

#include <map>

#include "tests/strategy/dear_cases.h"
#include "tests/strategy/fake_worker.h"

namespace starling::strategy {
namespace {

using testing::FakeWorker;
using testing::Models;
using testing::VirtualRanks;
using testing::with;

struct Named {
  std::string strategy;
  OptionTexts options;
};

// Schedules with transfers in progress between two steps.
const Named kOverlapping[] = {
    {"dear", {{"fusion", "256"}, {"edge", "16"}, {"gather", "weights"}}},
    {"dear", {{"fusion", "256"}, {"edge", "16"}, {"gather", "gradients"}, {"window", "3"}}},
    {"allreduce", {{"schedule", "priority"}, {"fusion", "64"}}}};

// All models whenever a worker begins a step, and the losses.
class Looker final : public sim::Observer {
 public:
  void step_begins(Rank worker, std::uint64_t step, Time, Observer::Models models) override {
    const auto& model = models[static_cast<std::size_t>(worker)];
    begun[step].emplace_back(model.begin(), model.end());
  }
  void evaluated(const record::LossPoint& point) override { losses.emplace_back(point.steps, point.loss); }
  std::map<std::uint64_t, testing::Models> begun;
  std::vector<std::pair<std::uint64_t, double>> losses;
};

sim::Simulation simulation_of(const Named& which) {
  const OptionTexts options = with(which.options, {{"algorithm", "halving"}});
  sim::Simulation simulation = testing::simulation_of(which.strategy, options, 4);
  simulation.workload = sim::make_workload("mlp", {.workers = 4}, "workload");
  simulation.optimizer.momentum = 0.9;
  testing::make_uneven(simulation.cluster);
  return simulation;
}

Looker look(const Named& which) {
  sim::Simulation simulation = simulation_of(which);
  Looker looker;
  simulation.observer = &looker;
  sim::simulate(simulation);
  return looker;
}

TEST(DearModels, AreThoseOfAllReduceWheneverSomebodyLooks) {
  const Looker expected = look({"allreduce", {}});
  ASSERT_EQ(expected.begun.size(), 10U);
  for (const Named& which : kOverlapping) {
    const Looker found = look(which);
    EXPECT_EQ(found.begun, expected.begun) << which.strategy;
    for (const auto& [step, models] : found.begun) {
      EXPECT_EQ(models, Models(4, models.front())) << which.strategy << ", step " << step;
    }
    EXPECT_EQ(found.losses, expected.losses) << which.strategy;
  }
}

// Only an evaluation looks; otherwise transfers are in progress.
TEST(DearModels, AreEvaluatedAsThoseOfAllReduce) {
  for (const std::uint64_t every : {1, 2, 3, 7}) {
    const auto losses_of = [&](const Named& which) {
      sim::Simulation simulation = simulation_of(which);
      simulation.evaluate_every = every;
      const record::RunRecord run = sim::simulate(simulation);
      std::vector<std::pair<std::uint64_t, double>> losses;
      for (const record::LossPoint& point : run.losses) losses.emplace_back(point.steps, point.loss);
      return std::pair(losses, run.final_train_loss);
    };
    const auto expected = losses_of({"allreduce", {}});
    EXPECT_GE(expected.first.size(), 10 / every);
    for (const Named& which : kOverlapping) {
      EXPECT_EQ(losses_of(which), expected) << which.strategy << ", every " << every;
    }
  }
}

// No worker waits at the end of a step unless something looks at the models.
TEST(DearModels, AreNotWaitedForIfNobodyLooks) {
  for (const Named& which : kOverlapping) {
    sim::Simulation simulation = simulation_of(which);
    simulation.workload = std::make_shared<testing::Layers>(std::vector<std::size_t>(16, 50));
    simulation.cluster = testing::equal_cluster(4);
    for (auto& host : simulation.cluster.hosts) host.outside.bytes_per_second = 3e4;
    simulation.evaluate_every = 1;
    const Duration looked_at = sim::simulate(simulation).duration;
    simulation.evaluate_every = 1000;
    EXPECT_LT(sim::simulate(simulation).duration, looked_at) << which.strategy;
  }
}

Task<> live(const Strategy& strategy, const RunInfo& place, transport::Transport& net,
            const std::vector<Section>& sections, std::vector<float>& model) {
  FakeWorker self(place, net, sections, 6);
  const std::span<float> gradients = floats(self.gradients()), x = floats(self.parameters());
  std::fill(gradients.begin(), gradients.end(), 0.0F);
  co_await strategy.run(self);
  model.assign(x.begin(), x.end());
}

// The models of workers that train by the strategy.
Models train(const Named& which, const std::vector<Section>& sections, int workers) {
  const StrategyEntry& row = find_strategy(which.strategy);
  const auto strategy = row.make(Options::parse(row.options, row.name, which.options), workers);
  const RunInfo place = testing::place_of(workers, sections);
  Models models(static_cast<std::size_t>(workers));
  VirtualRanks ranks(workers, {std::chrono::microseconds(20), 1e-8}, 7);
  ranks.run_all([&](Rank rank, transport::Transport& net) {
    return live(*strategy, place, net, sections, models[static_cast<std::size_t>(rank)]);
  });
  return models;
}

const std::vector<Section> kShapes[] = {
    {{"a", 0, 5}, {"b", 8, 40}, {"c", 48, 7}, {"d", 60, 30}},                  // gaps
    {{"a", 3, 5}, {"b", 10, 2}},                                               // also at the beginning
    {{"a", 0, 0}, {"b", 0, 20}, {"c", 20, 0}, {"d", 20, 9}, {"e", 29, 0}},     // nothing in some
    {{"a", 0, 0}, {"b", 4, 0}, {"c", 4, 1}, {"d", 9, 0}},                      // nothing in most, and gaps
    {{"a", 60, 30}, {"b", 0, 20}, {"c", 20, 40}},                              // another order than memory
    {{"a", 20, 10}, {"b", 10, 10}, {"c", 0, 10}, {"d", 30, 0}, {"e", 35, 3}},  // backwards, and all of it
    {{"a", 0, 1}},
};

TEST(DearModels, MayHaveGapsAndEmptySectionsInAnyOrder) {
  const Named schedules[] = {{"dear", {}},
                             {"dear", {{"fusion", "40"}, {"edge", "8"}, {"window", "4"}}},
                             {"dear", {{"fusion", "40"}, {"edge", "8"}, {"gather", "gradients"}}},
                             {"dear", {{"fusion", "1"}, {"edge", "1"}}},
                             {"allreduce", {{"schedule", "wfbp"}}},
                             {"allreduce", {{"schedule", "ddp"}, {"fusion", "100"}, {"first", "16"}}},
                             {"allreduce", {{"schedule", "horovod"}, {"fusion", "100"}}},
                             {"allreduce", {{"schedule", "mgwfbp"}}},
                             {"allreduce", {{"schedule", "priority"}, {"fusion", "16"}, {"window", "2"}}}};
  for (std::size_t shape = 0; shape < std::size(kShapes); ++shape) {
    for (const int workers : {1, 2, 4}) {
      const Models expected = train({"allreduce", {{"algorithm", "halving"}}}, kShapes[shape], workers);
      for (Named which : schedules) {
        which.options["algorithm"] = "halving";
        EXPECT_EQ(train(which, kShapes[shape], workers), expected)
            << "shape " << shape << ", " << workers << " workers, " << which.strategy;
      }
    }
  }
}

}  // namespace
}  // namespace starling::strategy
