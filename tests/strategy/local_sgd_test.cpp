#include "starling/strategy/local_sgd.h"

#include <gtest/gtest.h>

#include <cmath>

#include "starling/strategy/timed_exchange.h"
#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

using testing::run_to_end;
using testing::simulation_of;

// Every step: a local update, then all models are averaged.
class ModelAverage final : public Strategy {
 public:
  Task<> run(Worker& self) const override {
    const collective::SharedGroup everyone = self.everyone();
    const auto mean = collective::Reduction::mean();
    while (co_await self.compute()) {
      co_await self.update();
      const Tag tag = tag_of(Channel::kModel, self.step());
      co_await collective::all_reduce(self.net(), everyone, self.parameters(), mean, tag);
    }
  }
};

TEST(LocalSgd, PeriodOneIsTheAllReduceOfModels) {
  sim::Simulation simulation = simulation_of("local-sgd", {{"period", "1"}}, 5);
  simulation.optimizer.momentum = 0.9;
  const StrategyEntry reference{.name = "model-average",
                                .make = [](const Options&, int) { return std::make_unique<ModelAverage>(); }};
  const auto tested = run_to_end(simulation);
  simulation.strategy = &reference;
  simulation.options.clear();
  EXPECT_EQ(tested.models, run_to_end(simulation).models);
}

TEST(LocalSgd, ModelsAreOneAtTheEndAlsoInTheMiddleOfAPeriod) {
  sim::Simulation simulation = simulation_of("local-sgd", {{"period", "7"}}, 3);
  const auto outcome = run_to_end(simulation);
  EXPECT_EQ(outcome.models[0], outcome.models[1]);
  EXPECT_EQ(outcome.models[0], outcome.models[2]);
  EXPECT_EQ(outcome.run.consensus_distance, 0);
}

TEST(LocalSgd, AdacommRule) {
  EXPECT_EQ(adacomm_period(20, 20, 1.0, 0.25), 10U);  // 20 sqrt(1/4)
  EXPECT_EQ(adacomm_period(20, 10, 1.0, 0.2), 9U);    // ceil(8.94)
  EXPECT_EQ(adacomm_period(20, 9, 1.0, 0.2), 5U);     // not less than 9: halved
  EXPECT_EQ(adacomm_period(20, 5, 1.0, 1.5), 3U);
  EXPECT_EQ(adacomm_period(20, 1, 1.0, 1.0), 1U);
  EXPECT_EQ(adacomm_period(20, 4, 1.0, 0.0), 1U);
  EXPECT_EQ(adacomm_period(20, 4, 1.0, std::nan("")), 4U);  // a replay has no losses
}

TEST(LocalSgd, AdacommCommunicatesMoreAsTheLossFalls) {
  sim::Simulation simulation = simulation_of("local-sgd", {{"period", "16"}}, 4);
  simulation.steps = 400;
  simulation.evaluate_every = 10;
  const auto fixed = run_to_end(simulation);
  simulation.options = {{"period", "16"}, {"adapt", "adacomm"}, {"check", "2"}};
  const auto adaptive = run_to_end(simulation);
  EXPECT_GT(adaptive.run.ranks[0].bytes_sent, 2 * fixed.run.ranks[0].bytes_sent);
  EXPECT_EQ(adaptive.models[0], adaptive.models[3]);
}

}  // namespace
}  // namespace starling::strategy
