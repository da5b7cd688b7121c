// Strategies on real processes where workers have unequal batches and a learning rate that changes.
#include <gtest/gtest.h>

#include <cmath>

#include "starling/core/error.h"
#include "starling/launch/forked_ranks.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/session/service_rank.h"
#include "starling/session/session.h"
#include "starling/strategy/registry.h"
#include "tests/support/check.h"

namespace starling::session {
namespace {

using strategy::OptionTexts;

constexpr std::uint64_t kSteps = 6;

// Rank r has r + 1 samples with the gradient 4 r; rank 1 has none in even steps.
std::size_t samples_of(Rank rank, std::uint64_t step) {
  return rank == 1 && step % 2 == 0 ? 0 : static_cast<std::size_t>(rank) + 1;
}
float gradient_of(Rank rank) { return 4.0F * static_cast<float>(rank); }
// A power of two, so that products are exact.
double rate_of(std::uint64_t step) { return std::exp2(-static_cast<double>(step)); }

std::unique_ptr<strategy::Strategy> make(const std::string& name, const OptionTexts& options, int workers) {
  const auto& row = strategy::find_strategy(name);
  return row.make(strategy::Options::parse(row.options, row.name, options), workers);
}

// Trains one number from 0; `look` is given the model before each step and after the last.
void train(transport::Transport& net, const strategy::Strategy& strategy, int workers,
           const std::function<void(std::uint64_t, float)>& look) {
  Session::Options setting;
  setting.workers = workers;
  setting.sections = {{"x", 0, 1}};
  setting.steps = kSteps;
  setting.equal_batches = false;
  if (net.rank() >= workers) return run_service(net, strategy, setting);
  std::uint64_t step = 0;
  float* x = nullptr;
  const float* g = nullptr;
  const std::vector<float> model(1);
  Session session(static_cast<runtime::LoopScheduler&>(net.scheduler()), net, strategy, setting, model,
                  {.update = [&](Slice, std::uint64_t) { *x -= static_cast<float>(rate_of(step)) * *g; },
                   .learning_rate = [&] { return rate_of(step); }});
  x = session.parameters().data();
  g = session.gradients().data();
  while (session.next()) {
    look(step, session.parameters()[0]);
    ++step;
    const std::size_t samples = samples_of(net.rank(), step);
    session.gradients()[0] = samples > 0 ? gradient_of(net.rank()) : NAN;
    session.computed({.samples = samples, .loss = samples > 0 ? 1 : NAN});
  }
  look(step, session.parameters()[0]);
}

// The mean over all samples with the rate of the step, as on one machine.
float expected_after(std::uint64_t steps, int workers) {
  float x = 0;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    float sum = 0, samples = 0;
    for (Rank rank = 0; rank < workers; ++rank) {
      const auto own = static_cast<float>(samples_of(rank, step));
      sum += own * gradient_of(rank);
      samples += own;
    }
    x -= static_cast<float>(rate_of(step)) * (sum / samples);
  }
  return x;
}

TEST(UnequalBatches, SynchronousStrategiesTakeTheMeanOverAllSamples) {
  for (const auto& [name, options] :
       {std::pair<std::string, OptionTexts>{"allreduce", {}}, {"ps", {}}, {"ps", {{"server", "beside"}}}}) {
    constexpr int kWorkers = 3;
    const auto strategy = make(name, options, kWorkers);
    const int ranks = kWorkers + (strategy->service() == strategy::Placement::kOwnRank ? 1 : 0);
    launch::ForkedRanks run(ranks, [&](transport::Transport& net) {
      train(net, *strategy, kWorkers, [&](std::uint64_t step, float x) {
        testing::check_equal(x, expected_after(step, kWorkers), concat("the model after step ", step));
      });
    });
    for (const launch::Outcome& outcome : run.wait())
      EXPECT_TRUE(outcome.good()) << name << ": " << outcome.error;
  }
}

// A worker alone with its server: a step without samples leaves the model, others use the worker's rate.
TEST(UnequalBatches, AsynchronousServersUseTheRateOfTheWorker) {
  const auto strategy = make("ps", {{"mode", "asp"}, {"scale", "none"}}, 2);
  launch::ForkedRanks run(3, [&](transport::Transport& net) {
    train(net, *strategy, 2, [&](std::uint64_t step, float x) {
      // Rank 0's gradient is 0. Only the odd steps of rank 1 change the model.
      float wanted = 0;
      for (std::uint64_t s = 1; s <= step; s += 2) wanted -= static_cast<float>(rate_of(s)) * gradient_of(1);
      if (net.rank() == 1) testing::check_equal(x, wanted, concat("the model after step ", step));
    });
  });
  for (const launch::Outcome& outcome : run.wait()) EXPECT_TRUE(outcome.good()) << outcome.error;
}

TEST(UnequalBatches, AWorkerWithoutSamplesKeepsItsModel) {
  for (const auto& [name, options] :
       {std::pair<std::string, OptionTexts>{"local-sgd",
                                            {{"period", "2"}, {"adapt", "adacomm"}, {"check", "1"}}},
        {"dpsgd", {{"graph", "complete"}}},
        {"adpsgd", {}}}) {
    const auto strategy = make(name, options, 2);
    launch::ForkedRanks run(2, [&](transport::Transport& net) {
      train(net, *strategy, 2, [&](std::uint64_t, float x) { testing::check(std::isfinite(x), "a number"); });
    });
    for (const launch::Outcome& outcome : run.wait())
      EXPECT_TRUE(outcome.good()) << name << ": " << outcome.error;
  }
}

}  // namespace
}  // namespace starling::session
