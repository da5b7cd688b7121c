// Optimisers that work by tensor, with every strategy: whoever updates, and in whichever parts, it is the
// update of the whole model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/strategy/dear_cases.h"
#include "tests/strategy/registered_cases.h"

namespace starling::strategy {
namespace {

using optim::OptimizerSpec;
using testing::Models;
using testing::Outcome;
using testing::run_to_end;
using testing::with;

struct ByTensorRule {
  const char* name;
  OptimizerSpec spec;
};

constexpr ByTensorRule kByTensorRules[] = {
    {"lars",
     {.kind = OptimizerSpec::Kind::kLars,
      .learning_rate = 1,
      .weight_decay = 1e-3,
      .momentum = 0.9,
      .trust = 0.02}},
    {"lars with nesterov",
     {.kind = OptimizerSpec::Kind::kLars,
      .learning_rate = 0.5,
      .momentum = 0.9,
      .nesterov = true,
      .trust = 0.05}},
    {"lars of all tensors",
     {.kind = OptimizerSpec::Kind::kLars, .weight_decay = 1e-3, .trust = 0.05, .exclude_vectors = false}},
    {"lamb",
     {.kind = OptimizerSpec::Kind::kLamb, .learning_rate = 0.02, .weight_decay = 1e-3, .epsilon = 1e-6}},
    {"lamb, clipped",
     {.kind = OptimizerSpec::Kind::kLamb, .learning_rate = 0.02, .epsilon = 1e-6, .clip_norm = 0.05}},
    {"lars, clipped",
     {.kind = OptimizerSpec::Kind::kLars,
      .learning_rate = 1,
      .momentum = 0.9,
      .trust = 0.02,
      .clip_norm = 0.05}}};

// Sums that shards make are in another order, and may round to another ratio.
bool cuts_tensors(const RegisteredCase& which) {
  return which.row->name == "dear" && options_of(which).text("gather") != "gradients";
}

void expect_models_near(const Models& found, const Models& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    for (std::size_t i = 0; i < found[rank].size(); ++i) {
      const double wanted = expected[rank][i];
      ASSERT_NEAR(found[rank][i], wanted, 2e-5 * (1 + std::abs(wanted)))
          << "rank " << rank << ", element " << i;
    }
  }
}

sim::Simulation mlp_simulation(const StrategyEntry& row, const OptionTexts& options, int workers) {
  sim::Simulation simulation = testing::simulation_of(row, options, workers);
  simulation.workload = sim::make_workload("mlp", {.workers = workers}, "workload");
  simulation.steps = 8;
  return simulation;
}

class ByTensor : public ::testing::TestWithParam<RegisteredCase> {
 protected:
  sim::Simulation simulation(int workers) const {
    return mlp_simulation(*GetParam().row, GetParam().options, workers);
  }
};
class ByTensorAlone : public ByTensor {};
class ByTensorEqual : public ByTensor {};

// The optimiser gets a gradient like any other.
bool by_codes(const RegisteredCase& which) {
  return std::ranges::any_of(which.options,
                             [](const auto& option) { return option.first.starts_with("compress"); });
}

INSTANTIATE_TEST_SUITE_P(Strategies, ByTensor,
                         ::testing::ValuesIn(cases_where([](const RegisteredCase& which) {
                           return !by_codes(which);
                         })),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Strategies, ByTensorAlone,
                         ::testing::ValuesIn(cases_where([](const RegisteredCase& which) {
                           return !by_codes(which) && possible(which, 1) &&
                                  !moves_models(*which.row, options_of(which));
                         })),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Strategies, ByTensorEqual,
                         ::testing::ValuesIn(cases_where([](const RegisteredCase& which) {
                           return !by_codes(which) && has_equal_models(*which.row, options_of(which));
                         })),
                         case_name);

TEST_P(ByTensorAlone, IsThePlainOptimizer) {
  for (const ByTensorRule& rule : kByTensorRules) {
    SCOPED_TRACE(rule.name);
    sim::Simulation simulation = this->simulation(1);
    simulation.optimizer = rule.spec;
    const Models found = run_to_end(simulation).models;
    simulation.strategy = &testing::alone();
    simulation.options.clear();
    const Models expected = run_to_end(simulation).models;
    if (cuts_tensors(GetParam())) {
      expect_models_near(found, expected);
    } else {
      EXPECT_EQ(found, expected);
    }
  }
}

// Rates that all can stand, those too that update n times as often, or whose centre pulls by a multiple of
// the rate (easgd).
TEST_P(ByTensor, SeveralWorkersLearn) {
  const OptimizerSpec rules[] = {
      {.kind = OptimizerSpec::Kind::kLars, .learning_rate = 0.05, .weight_decay = 1e-3, .trust = 0.2},
      {.kind = OptimizerSpec::Kind::kLamb, .learning_rate = 0.005, .weight_decay = 1e-3, .epsilon = 1e-6}};
  for (const OptimizerSpec& rule : rules) {
    for (const int workers : {2, 4}) {
      if (!possible(GetParam(), workers)) continue;
      sim::Simulation simulation = this->simulation(workers);
      simulation.optimizer = rule;
      simulation.steps = 40;
      const record::RunRecord run = run_to_end(simulation).run;
      EXPECT_LT(*run.final_train_loss, 0.95 * run.losses.front().loss)
          << name_of(rule.kind) << ", " << workers << " workers";
    }
  }
}

TEST_P(ByTensorEqual, AllWorkersHaveTheSameBits) {
  for (const ByTensorRule& rule : kByTensorRules) {
    SCOPED_TRACE(rule.name);
    for (const int workers : {3, 4}) {
      if (!possible(GetParam(), workers)) continue;
      sim::Simulation simulation = this->simulation(workers);
      simulation.optimizer = rule.spec;
      testing::make_uneven(simulation.cluster);
      const Models models = run_to_end(simulation).models;
      EXPECT_EQ(models, Models(models.size(), models.front())) << workers << " workers";
    }
  }
}

// A worker dies at any time, also while the first buckets are agreed on. The model's smallest tensor has an
// element for each worker.
TEST_P(ByTensorEqual, SurvivorsHaveTheSameBits) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    Random random(seed);
    const int workers = random.between(3, 4);
    if (!possible(GetParam(), workers)) continue;
    sim::Simulation simulation = this->simulation(workers);
    simulation.optimizer = kByTensorRules[seed % std::size(kByTensorRules)].spec;
    testing::make_uneven(simulation.cluster);
    const Duration whole = sim::simulate(simulation).duration;
    const Rank lost = random.between(1, workers - 1);
    const Time at(
        Duration(static_cast<Duration::rep>(random.uniform() * static_cast<double>(whole.count()))));
    simulation.cluster.faults.push_back({.kind = cluster::Fault::Kind::kKill, .subject = lost, .from = at});
    const Outcome outcome = run_to_end(simulation);
    for (Rank rank = 1; rank < workers; ++rank) {
      if (rank == lost) continue;
      const auto index = static_cast<std::size_t>(rank);
      EXPECT_EQ(outcome.run.ranks[index].ended, "");
      EXPECT_EQ(outcome.models[index], outcome.models[0]) << "rank " << rank;
    }
  }
}

Models train_by_tensor(const char* strategy, const OptionTexts& options, const OptimizerSpec& spec,
                       int workers) {
  sim::Simulation simulation = mlp_simulation(find_strategy(strategy), options, workers);
  simulation.optimizer = spec;
  testing::make_uneven(simulation.cluster);
  return run_to_end(simulation).models;
}

// Buckets cut tensors here; updates do not.
TEST(ByTensorSchedules, HaveTheBitsOfAllReduce) {
  const OptionTexts halving{{"algorithm", "halving"}};
  const std::pair<const char*, OptionTexts> schedules[] = {
      {"allreduce", {{"schedule", "wfbp"}}},
      {"allreduce", {{"schedule", "ddp"}, {"fusion", "256"}, {"first", "64"}}},
      {"allreduce", {{"schedule", "horovod"}, {"fusion", "256"}}},
      {"allreduce", {{"schedule", "mgwfbp"}}},
      {"allreduce", {{"schedule", "priority"}, {"fusion", "64"}}},
      {"dear", {{"fusion", "256"}, {"edge", "16"}, {"gather", "gradients"}}}};
  for (const ByTensorRule& rule : kByTensorRules) {
    for (const int workers : {2, 4}) {
      const Models expected = train_by_tensor("allreduce", halving, rule.spec, workers);
      for (const auto& [strategy, options] : schedules) {
        EXPECT_EQ(train_by_tensor(strategy, with(halving, options), rule.spec, workers), expected)
            << rule.name << ", " << strategy << ", " << workers << " workers";
      }
      for (const char* edge : {"16", "256k"}) {
        const OptionTexts shards = with(halving, {{"gather", "weights"}, {"fusion", "256"}, {"edge", edge}});
        expect_models_near(train_by_tensor("dear", shards, rule.spec, workers), expected);
      }
    }
  }
}

TEST(ByTensorServer, UpdatesAsTheWorkersOfAllReduceDo) {
  for (const ByTensorRule& rule : kByTensorRules) {
    const Models expected = train_by_tensor("allreduce", {}, rule.spec, 4);
    expect_models_near(train_by_tensor("ps", {{"mode", "bsp"}}, rule.spec, 4), expected);
  }
}

// Of a tensor with one dimension only.
TEST(ByTensorExclusion, LeavesBiasesAtThePlainRateWithoutDecay) {
  OptimizerSpec spec = kByTensorRules[0].spec;
  const Models excluded = train_by_tensor("allreduce", {}, spec, 2);
  spec.exclude_vectors = false;
  EXPECT_NE(train_by_tensor("allreduce", {}, spec, 2), excluded);
}

}  // namespace
}  // namespace starling::strategy
