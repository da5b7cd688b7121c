// Gradients that are not finite, in every strategy: the models stay finite, and workers that have equal
// models keep them.
#include "starling/strategy/gradient_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "starling/core/error.h"
#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

using testing::Outcome;
using testing::run_to_end;
using testing::simulation_of;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

// The mlp, some of whose gradients have an element that is not finite. A step has one gradient, or several of
// parts of a batch.
class Faulty final : public sim::Workload {
 public:
  struct Fault {
    std::size_t element = 0;
    float value = kNan;
  };
  using Faults = std::map<std::pair<Rank, std::uint64_t>, Fault>;  // by worker and step, counted from 1

  Faulty(int workers, Faults faults)
      : inner_(sim::make_workload("mlp", {.workers = workers}, "workload")), faults_(std::move(faults)) {}

  const std::vector<Section>& sections() const override { return inner_->sections(); }
  std::size_t batch() const override { return inner_->batch(); }
  void initialize(std::span<float> x, Random& random) const override { inner_->initialize(x, random); }
  double gradient(Rank worker, std::span<const float> x, std::span<float> gradient, std::size_t samples,
                  Random& random) const override {
    const double loss = inner_->gradient(worker, x, gradient, samples, random);
    const std::uint64_t step = 1 + samples_[worker] / batch();
    samples_[worker] += samples;
    const auto fault = faults_.find({worker, step});
    if (fault == faults_.end()) return loss;
    gradient[fault->second.element % gradient.size()] = fault->second.value;
    return std::numeric_limits<double>::quiet_NaN();
  }
  sim::Evaluation evaluate(std::span<const float> x) const override { return inner_->evaluate(x); }

 private:
  std::unique_ptr<sim::Workload> inner_;
  Faults faults_;
  mutable std::map<Rank, std::uint64_t> samples_;  // a test runs one simulation
};

constexpr int kTrainers = 4;

sim::Simulation faulty_simulation(const StrategyEntry& row, const OptionTexts& options,
                                  Faulty::Faults faults) {
  sim::Simulation simulation = simulation_of(row, options, kTrainers);
  simulation.workload = std::make_shared<Faulty>(kTrainers, std::move(faults));
  simulation.nonfinite = NonFinite::kSkip;
  simulation.optimizer.momentum = 0.5;
  simulation.steps = 12;
  return simulation;
}

std::vector<std::uint64_t> skipped_of(const record::RunRecord& run) {
  std::vector<std::uint64_t> skipped;
  for (const record::RankRecord& record : run.ranks) {
    if (record.trains) skipped.push_back(record.journal.skipped);
  }
  return skipped;
}

std::string describe(const OptionTexts& options) {
  std::string text;
  for (const auto& [name, value] : options) text += concat(name, "=", value, " ");
  return text;
}

bool finite(const testing::Models& models) {
  for (const auto& model : models) {
    for (const float x : model) {
      if (!std::isfinite(x)) return false;
    }
  }
  return true;
}

// The first and the last element are in different buckets, and the first is sent last.
const Faulty::Faults kSome = {{{1, 3}, {0, kNan}},       {{2, 3}, {1'000'003, kInfinite}},
                              {{3, 5}, {7, -kInfinite}}, {{0, 8}, {2, kNan}},
                              {{1, 8}, {3, kNan}},       {{2, 8}, {500, kNan}},
                              {{3, 8}, {9, kNan}}};

class EveryVariant : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryVariant, StaysFiniteAndEqual) {
  const StrategyEntry& row = find_strategy(GetParam());
  for (const OptionTexts& options : row.variants) {
    SCOPED_TRACE(describe(options));
    const Outcome outcome = run_to_end(faulty_simulation(row, options, kSome));
    EXPECT_TRUE(finite(outcome.models));
    EXPECT_TRUE(std::isfinite(*outcome.run.final_train_loss));
    EXPECT_EQ(skipped_of(outcome.run), (std::vector<std::uint64_t>{1, 2, 2, 2}));
    if (!has_equal_models(row, Options::parse(row.options, row.name, options))) continue;
    for (const auto& model : outcome.models) EXPECT_EQ(model, outcome.models[0]);
  }
}

// The check is not vacuous: without it the same gradients ruin the models.
TEST_P(EveryVariant, IsRuinedWithoutTheCheck) {
  sim::Simulation simulation = faulty_simulation(find_strategy(GetParam()), {}, kSome);
  simulation.nonfinite = NonFinite::kApply;
  EXPECT_FALSE(finite(run_to_end(simulation).models));
}

TEST_P(EveryVariant, TenInARowStopTheRun) {
  Faulty::Faults faults;
  for (std::uint64_t step = 2; step < 2 + kMostSkipped; ++step) faults[{2, step}] = {};
  try {
    sim::simulate(faulty_simulation(find_strategy(GetParam()), {}, faults));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "rank 2: the gradients of 10 steps in a row are not finite, the last is that of step 11; the "
        "run stops");
  }
}

TEST_P(EveryVariant, NineInARowDoNot) {
  Faulty::Faults faults;
  for (std::uint64_t step = 1; step < kMostSkipped; ++step) faults[{2, step}] = {};
  const Outcome outcome = run_to_end(faulty_simulation(find_strategy(GetParam()), {}, faults));
  EXPECT_EQ(skipped_of(outcome.run), (std::vector<std::uint64_t>{0, 0, kMostSkipped - 1, 0}));
}

// Weights of 1 give the bits of a plain mean.
TEST_P(EveryVariant, HasTheSameBitsIfAllIsFinite) {
  const StrategyEntry& row = find_strategy(GetParam());
  for (const OptionTexts& options : row.variants) {
    if (!has_equal_models(row, Options::parse(row.options, row.name, options))) continue;
    sim::Simulation simulation = faulty_simulation(row, options, {});
    const auto checked = run_to_end(simulation).models;
    simulation.nonfinite = NonFinite::kApply;
    simulation.workload = std::make_shared<Faulty>(kTrainers, Faulty::Faults{});
    EXPECT_EQ(run_to_end(simulation).models, checked) << describe(options);
  }
}

std::vector<std::string> all_strategies() {
  std::vector<std::string> names;
  for (const StrategyEntry& row : registry()) names.push_back(row.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(GradientCheck, EveryVariant, ::testing::ValuesIn(all_strategies()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(GradientCheck, TheFirstStopsIfAsked) {
  sim::Simulation simulation = faulty_simulation(find_strategy("allreduce"), {}, {{{1, 3}, {}}});
  simulation.nonfinite = NonFinite::kStop;
  try {
    sim::simulate(simulation);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "rank 1: the gradient of step 3 is not finite; the run stops");
  }
}

// With one signature per worker the change of the model shows the weights: those of the others are 1 / 3.
class OneBad final : public sim::Workload {
 public:
  const std::vector<Section>& sections() const override { return inner_->sections(); }
  std::size_t batch() const override { return 1; }
  void initialize(std::span<float> x, Random& random) const override { inner_->initialize(x, random); }
  double gradient(Rank worker, std::span<const float> x, std::span<float> gradient, std::size_t samples,
                  Random& random) const override {
    inner_->gradient(worker, x, gradient, samples, random);
    if (worker == 1) gradient[1] = kNan;
    return 1;
  }
  sim::Evaluation evaluate(std::span<const float> x) const override { return inner_->evaluate(x); }

 private:
  std::shared_ptr<const sim::Workload> inner_ = testing::signatures(kTrainers);
};

TEST(GradientCheck, TheMeanIsThatOfTheOthers) {
  for (const auto& [name, options] : {std::pair<std::string, OptionTexts>{"allreduce", {}},
                                      {"allreduce", {{"schedule", "ddp"}}},
                                      {"dear", {}},
                                      {"dear", {{"gather", "gradients"}}},
                                      {"ps", {}}}) {
    sim::Simulation simulation = simulation_of(name, options, kTrainers);
    simulation.workload = std::make_shared<OneBad>();
    simulation.nonfinite = NonFinite::kSkip;
    simulation.optimizer.learning_rate = 1;
    simulation.steps = 1;
    const float third = -1.0F / 3;
    for (const auto& model : run_to_end(simulation).models) {
      EXPECT_EQ(model, (std::vector<float>{third, 0, third, third})) << name << " " << describe(options);
    }
  }
}

TEST(GradientCheck, IsSpeltSkipOrStop) {
  EXPECT_EQ(parse_nonfinite("stop", "--nonfinite"), NonFinite::kStop);
  try {
    parse_nonfinite("apply", "--nonfinite");
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "--nonfinite: 'apply'; allowed: skip, stop");
  }
}

}  // namespace
}  // namespace starling::strategy
