// Weights do not depend on the buckets, nor on when these change.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/strategy/dear_cases.h"

namespace starling::strategy {
namespace {

using optim::OptimizerSpec;
using testing::Layers;
using testing::Models;
using testing::with;

OptimizerSpec momentum() { return {.learning_rate = 0.01, .momentum = 0.9}; }
OptimizerSpec adamw() {
  return {.kind = OptimizerSpec::Kind::kAdamW, .learning_rate = 0.01, .weight_decay = 0.1};
}

sim::Simulation simulation_of(const std::string& strategy, const OptionTexts& options,
                              std::shared_ptr<const sim::Workload> workload, int workers) {
  sim::Simulation simulation = testing::simulation_of(strategy, options, workers);
  simulation.workload = std::move(workload);
  return simulation;
}

// Sizes from nothing to more than some thresholds.
std::shared_ptr<const Layers> layers() {
  return std::make_shared<Layers>(
      std::vector<std::size_t>{100, 3, 0, 64, 1, 257, 12, 12, 0, 0, 31, 500, 7, 64, 64, 2});
}

TEST(FusionPlans, AnyOneGivesTheSameBits) {
  const auto workload = layers();
  const OptionTexts halving{{"algorithm", "halving"}};
  for (const OptimizerSpec& optimizer : {momentum(), adamw()}) {
    const auto train = [&](const std::string& strategy, const OptionTexts& options) {
      sim::Simulation simulation = simulation_of(strategy, options, workload, 4);
      simulation.optimizer = optimizer;
      simulation.steps = 4;
      testing::make_uneven(simulation.cluster);
      return testing::run_to_end(simulation).models;
    };
    const Models expected = train("allreduce", halving);
    for (const char* fusion : {"1", "100", "1k", "1g"}) {
      for (const char* window : {"1", "3"}) {
        const OptionTexts one = with(halving, {{"fusion", fusion}, {"window", window}});
        SCOPED_TRACE(concat("fusion ", fusion, ", window ", window));
        EXPECT_EQ(train("allreduce", with(one, {{"schedule", "ddp"}, {"first", "40"}})), expected);
        EXPECT_EQ(train("allreduce", with(one, {{"schedule", "priority"}})), expected);
        for (const char* edge : {"1", "64", "1g"}) {
          EXPECT_EQ(train("dear", with(one, {{"edge", edge}, {"gather", "weights"}})), expected);
          EXPECT_EQ(train("dear", with(one, {{"edge", edge}, {"gather", "gradients"}})), expected);
        }
      }
      EXPECT_EQ(train("allreduce", with(halving, {{"schedule", "horovod"}, {"fusion", fusion}})), expected);
    }
  }
}

// By step: the sections of its transfers of one kind, as rank 0 noted them.
using Cuts = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
std::set<Cuts> plans_of(const record::RunRecord& run, record::Detail::Kind kind) {
  std::map<std::uint32_t, Cuts> steps;
  for (const record::Span& span : run.ranks.front().journal.spans) {
    const record::Detail& detail = span.detail;
    if (detail.kind == kind) steps[detail.step].emplace_back(detail.first, detail.last);
  }
  std::set<Cuts> plans;
  for (auto& [step, cuts] : steps) {
    std::sort(cuts.begin(), cuts.end());
    plans.insert(cuts);
  }
  return plans;
}

// 6 MiB, 5 of them in the last section: smaller thresholds give other buckets and pieces than larger ones.
// The optimiser's slices move from rank to rank with them.
sim::Simulation tuned(const std::string& strategy, const OptionTexts& options,
                      const OptimizerSpec& optimizer) {
  static const auto workload =
      std::make_shared<Layers>(std::vector<std::size_t>{1 << 16, 1 << 16, 1 << 16, 1 << 16, 5 << 18});
  sim::Simulation simulation = simulation_of(strategy, options, workload, 2);
  simulation.optimizer = optimizer;
  simulation.steps = 14;
  simulation.evaluate_every = 1'000'000;
  return simulation;
}

void expect_same_bits(const OptimizerSpec& optimizer, const std::string& gather) {
  const Models expected = testing::run_to_end(tuned("allreduce", {}, optimizer)).models;
  const auto outcome =
      testing::run_to_end(tuned("dear", {{"fusion", "auto"}, {"edge", "1g"}, {"gather", gather}}, optimizer));
  EXPECT_TRUE(outcome.models == expected) << gather;
  EXPECT_GE(plans_of(outcome.run, record::Detail::Kind::kReduceScatter).size(), 2U) << gather;
}

TEST(FusionPlans, ChangesWhileTrainingKeepTheBits) {
  expect_same_bits(momentum(), "weights");
  expect_same_bits(momentum(), "gradients");
}

TEST(FusionPlans, ChangesKeepTheBitsOfAdamW) { expect_same_bits(adamw(), "weights"); }

TEST(FusionPlans, ChangesOfTheOtherSchedulesKeepTheBitsToo) {
  const Models expected = testing::run_to_end(tuned("allreduce", {}, momentum())).models;
  for (const OptionTexts& schedule : {OptionTexts{{"schedule", "ddp"}, {"first", "8m"}},
                                      {{"schedule", "horovod"}, {"cycle", "200"}},
                                      {{"schedule", "priority"}}}) {
    const auto outcome =
        testing::run_to_end(tuned("allreduce", with(schedule, {{"fusion", "auto"}}), momentum()));
    EXPECT_TRUE(outcome.models == expected) << schedule.at("schedule");
    EXPECT_GE(plans_of(outcome.run, record::Detail::Kind::kAllReduce).size(), 2U) << schedule.at("schedule");
  }
  const auto merged = testing::run_to_end(tuned("allreduce", {{"schedule", "mgwfbp"}}, momentum()));
  EXPECT_TRUE(merged.models == expected);
  EXPECT_EQ(plans_of(merged.run, record::Detail::Kind::kAllReduce).size(), 2U) << "before and after";
}

}  // namespace
}  // namespace starling::strategy
