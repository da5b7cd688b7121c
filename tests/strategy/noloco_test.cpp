#include "starling/strategy/noloco.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "tests/strategy/two_targets.h"
#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

using testing::run_to_end;
using testing::simulation_of;
using testing::TwoTargets;

// Two rounds of two inner steps of rate 0.1, worked out by hand.
TEST(Noloco, AStepOfAPair) {
  std::array<std::vector<float>, 2> slow{{{1, -1}, {0.8F, -0.6F}}}, momentum{{{0, 0}, {0, 0}}};
  std::array<std::vector<float>, 2> model = slow;
  constexpr double kExpected[2][2][2] = {{{.732950, -.679400}, {.672950, -.559400}},
                                         {{.415142125, -.338281075}, {.467142125, -.442281075}}};
  const TwoTargets problem;
  Random random(1);
  for (const auto& expected : kExpected) {
    for (std::size_t worker = 0; worker < 2; ++worker) {
      for (int step = 0; step < 2; ++step) {
        std::vector<float> gradient(2);
        problem.gradient(static_cast<Rank>(worker), model[worker], gradient, 1, random);
        for (std::size_t i = 0; i < 2; ++i) model[worker][i] -= 0.1F * gradient[i];
      }
    }
    const auto old_model = model, old_slow = slow;
    for (std::size_t worker = 0; worker < 2; ++worker) {
      noloco_step({.rate = 0.7, .momentum = 0.5}, momentum[worker], {model[worker], slow[worker]},
                  {old_model[1 - worker], old_slow[1 - worker]});
      EXPECT_EQ(model[worker], slow[worker]);
      for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(slow[worker][i], expected[worker][i], 3e-7);
    }
  }
}

// Without gradients the two of a pair come closer by the factor 1 - a in the first round, around their mean.
TEST(Noloco, PairsAreDrawnTogether) {
  sim::Simulation simulation = simulation_of("noloco", {{"period", "1"}, {"outer-momentum", "0"}}, 2);
  simulation.optimizer.learning_rate = 0;
  simulation.spread = 1;
  simulation.steps = 30;
  const auto outcome = run_to_end(simulation);
  for (std::size_t i = 0; i < outcome.models[0].size(); ++i) {
    EXPECT_NEAR(outcome.models[0][i], outcome.models[1][i], 1e-5);
  }
}

TEST(Noloco, MatchingsAreMutualAndMeetEverybody) {
  for (const int workers : {1, 2, 5, 8}) {
    std::set<std::pair<Rank, Rank>> met;
    for (std::uint64_t round = 1; round <= 200; ++round) {
      int alone = 0;
      for (Rank rank = 0; rank < workers; ++rank) {
        const std::optional<Rank> partner = noloco_partner(round, rank, workers);
        if (!partner) {
          ++alone;
          continue;
        }
        ASSERT_NE(*partner, rank);
        ASSERT_EQ(noloco_partner(round, *partner, workers), rank);
        met.insert({rank, *partner});
      }
      ASSERT_EQ(alone, workers % 2);
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(workers * (workers - 1)));
  }
}

}  // namespace
}  // namespace starling::strategy
