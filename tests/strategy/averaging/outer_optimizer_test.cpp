// Local SGD with outer optimisers and in fragments, on a problem that was worked out by hand.
#include "starling/strategy/averaging/outer_optimizer.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>

#include "starling/strategy/averaging/fragment_average.h"
#include "tests/strategy/two_targets.h"
#include "tests/support/refusal.h"
#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

using testing::run_to_end;
using testing::simulation_of;
using testing::TwoTargets;

// Both workers' models after so many steps of rate 0.1, two between averages.
void expect_model(const OptionTexts& outer, std::uint64_t steps, std::array<double, 2> expected) {
  SCOPED_TRACE(concat(outer.at("outer"), ", ", steps, " steps"));
  OptionTexts options = outer;
  options["period"] = "2";
  sim::Simulation simulation = simulation_of("local-sgd", options, 2);
  simulation.workload = std::make_unique<TwoTargets>();
  simulation.optimizer = {.learning_rate = 0.1};
  simulation.steps = steps;
  const auto outcome = run_to_end(simulation);
  EXPECT_EQ(outcome.models[0], outcome.models[1]);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(outcome.models[0][i], expected[i], 3e-7);
}

TEST(OuterOptimizer, SlowMo) {
  const OptionTexts options{{"outer", "slowmo"}, {"outer-lr", "0.8"}, {"outer-momentum", "0.5"}};
  expect_model(options, 2, {.746, -.778});
  expect_model(options, 4, {.420880, -.485626});
}

TEST(OuterOptimizer, Nesterov) {
  expect_model({{"outer", "nesterov"}}, 2, {.577725, -.630925});
  expect_model({{"outer", "nesterov"}}, 4, {.129874581, -.216793955});
}

// Without momentum, a step of rate 1 leads to the mean.
TEST(OuterOptimizer, IsTheAverageWithoutMomentumAtRateOne) {
  for (const char* const outer : {"slowmo", "nesterov"}) {
    expect_model({{"outer", outer}, {"outer-lr", "1"}, {"outer-momentum", "0"}}, 2, {1 - .3175, -1 + .2775});
  }
}

TEST(OuterOptimizer, DefaultsAreThoseOfThePapers) {
  const auto rule_of = [](const OptionTexts& given) {
    return outer_rule(Options::parse(outer_options(), "test", given));
  };
  EXPECT_FALSE(rule_of({}));
  const std::optional<OuterRule> slowmo = rule_of({{"outer", "slowmo"}});
  EXPECT_EQ(slowmo->rate, 1);
  EXPECT_EQ(slowmo->momentum, 0.5);
  const std::optional<OuterRule> diloco = rule_of({{"outer", "nesterov"}, {"outer-lr", "0.5"}});
  EXPECT_EQ(diloco->rate, 0.5);
  EXPECT_EQ(diloco->momentum, 0.9);
}

// At the end of a schedule the inner rate is 0, and nobody has moved.
TEST(OuterOptimizer, AnInnerRateOfZeroLeavesTheModel) {
  sim::Simulation simulation = simulation_of("local-sgd", {{"period", "2"}, {"outer", "slowmo"}}, 2);
  simulation.optimizer.learning_rate = 0;
  simulation.steps = 4;
  const auto outcome = run_to_end(simulation);
  simulation.steps = 2;
  EXPECT_EQ(outcome.models, run_to_end(simulation).models);
}

// The models of both workers when step 5 and step 9 begin.
class ModelsAt final : public sim::Observer {
 public:
  void step_begins(Rank, std::uint64_t step, Time, Models models) override {
    auto& seen = at[step];
    seen.clear();
    for (const auto& model : models) seen.emplace_back(model.begin(), model.end());
  }
  std::map<std::uint64_t, testing::Models> at;
};

// Two fragments of one element each, windows of two steps; a fragment is sent after the first of them.
TEST(FragmentAverage, StreamingDiLoCo) {
  constexpr double kWithoutMix[2][2][2] = {{{.716472500, -.485788750}, {.311040000, -.485788750}},
                                           {{.263977803, .031996353}, {-.046486674, .031996353}}};
  constexpr double kHalf[2][2][2] = {{{.772261250, -.447694375}, {.212720000, -.557400625}},
                                     {{.463642952, -.089619357}, {-.133331617, -.132187821}}};
  for (const auto& [mix, expected] : {std::pair("0", &kWithoutMix), std::pair("0.5", &kHalf)}) {
    sim::Simulation simulation = simulation_of(
        "local-sgd",
        {{"period", "4"}, {"outer", "nesterov"}, {"fragments", "2"}, {"delay", "1"}, {"mix", mix}}, 2);
    simulation.workload = std::make_unique<TwoTargets>();
    simulation.optimizer = {.learning_rate = 0.1};
    simulation.steps = 9;
    ModelsAt seen;
    simulation.observer = &seen;
    sim::simulate(simulation);
    for (const std::size_t period : {0, 1}) {
      for (std::size_t worker = 0; worker < 2; ++worker) {
        for (std::size_t i = 0; i < 2; ++i) {
          EXPECT_NEAR(seen.at[4 * period + 5][worker][i], (*expected)[period][worker][i], 3e-7)
              << "mix " << mix << ", period " << period << ", worker " << worker << ", element " << i;
        }
      }
    }
  }
}

TEST(FragmentAverage, OneFragmentWithoutDelayIsDiLoCo) {
  const auto models = [](const OptionTexts& options) {
    sim::Simulation simulation = simulation_of("local-sgd", options, 3);
    simulation.steps = 20;
    return run_to_end(simulation).models;
  };
  EXPECT_EQ(
      models({{"period", "4"}, {"outer", "nesterov"}}),
      models({{"period", "4"}, {"outer", "nesterov"}, {"fragments", "1"}, {"delay", "0"}, {"mix", "0"}}));
}

TEST(FragmentAverage, ThePeakOfTheTrafficFallsByTheFragments) {
  const auto peak = [](const OptionTexts& options) {
    sim::Simulation simulation = simulation_of("local-sgd", options, 2);
    simulation.workload = std::make_shared<testing::TwoTargets>();
    simulation.steps = 21;
    return sim::simulate(simulation).ranks[0].journal.step_traffic.peak_bytes;
  };
  const std::uint64_t whole = peak({{"period", "4"}, {"outer", "nesterov"}});
  EXPECT_GT(whole, 0U);
  EXPECT_EQ(peak({{"period", "4"}, {"outer", "nesterov"}, {"fragments", "2"}}), whole / 2);
  EXPECT_EQ(peak({{"period", "4"}, {"outer", "nesterov"}, {"fragments", "2"}, {"delay", "1"}}), whole / 2);
}

TEST(FragmentAverage, RunsEndWithOneModel) {
  sim::Simulation simulation = simulation_of(
      "local-sgd",
      {{"period", "6"}, {"outer", "nesterov"}, {"fragments", "2"}, {"delay", "2"}, {"mix", "0.5"}}, 3);
  for (const std::uint64_t steps : {11, 12, 13, 14, 15}) {
    simulation.steps = steps;
    const auto outcome = run_to_end(simulation);
    EXPECT_EQ(outcome.models[0], outcome.models[1]);
    EXPECT_EQ(outcome.models[0], outcome.models[2]);
  }
}

TEST(FragmentAverage, FragmentsAreWholeSectionsOfAboutTheSameSize) {
  const std::vector<Section> sections{{"a", 0, 10}, {"b", 10, 50}, {"c", 60, 20}, {"d", 80, 40}};
  EXPECT_EQ(fragment_of(sections, 1, 0), (Slice{0, 120}));
  EXPECT_EQ(fragment_of(sections, 2, 0), (Slice{0, 60}));
  EXPECT_EQ(fragment_of(sections, 2, 1), (Slice{60, 120}));
  for (const std::size_t fragments : {1, 2, 3, 4, 7}) {
    std::size_t covered = 0;
    for (std::size_t i = 0; i < fragments; ++i) covered += fragment_of(sections, fragments, i).size();
    EXPECT_EQ(covered, 120U) << fragments;
  }
}

std::string refusal_of(const OptionTexts& options) {
  return testing::refusal([&] { simulate(simulation_of("local-sgd", options, 2)); });
}

TEST(FragmentAverage, ImpossibleOptionsAreRefused) {
  EXPECT_EQ(refusal_of({{"period", "10"}, {"outer", "nesterov"}, {"fragments", "4"}}),
            "strategy local-sgd, option fragments: 4; allowed: divisors of the period, which is 10");
  EXPECT_EQ(refusal_of({{"period", "10"}, {"outer", "nesterov"}, {"fragments", "5"}, {"delay", "2"}}),
            "strategy local-sgd, option delay: 2; allowed: less than period / fragments, which is 2");
  EXPECT_EQ(
      refusal_of({{"outer", "nesterov"}, {"adapt", "adacomm"}, {"delay", "2"}}),
      "strategy local-sgd, option adapt: adacomm changes the period; allowed with it: fragments 1, delay 0");
  EXPECT_EQ(refusal_of({{"delay", "2"}}),
            "strategy local-sgd, option delay: it belongs to outer=slowmo or nesterov, and outer is none");
}

}  // namespace
}  // namespace starling::strategy
