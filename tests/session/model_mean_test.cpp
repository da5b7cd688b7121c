#include "starling/session/background/model_mean.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <thread>

#include "tests/session/jobs.h"
#include "tests/support/check.h"
#include "tests/support/simulations.h"

namespace starling::session {
namespace {

using strategy::OptionTexts;
using testing::Board;
using testing::check;
using testing::check_equal;
using testing::Job;
using testing::JobSession;
using testing::simulation_of;

// Trains to the end and puts every worker's parameters and two extras on the board.
std::vector<launch::Outcome> train(const Job& job, const SessionOptions& options, Board& models) {
  return testing::run_ranks(job, options, [&](transport::Transport& net) {
    const auto rank = static_cast<std::size_t>(net.rank());
    std::vector<float> extras(2);
    Callbacks callbacks;
    callbacks.extras = {std::span<float>(extras)};
    JobSession own(job, net, options, callbacks);
    while (own.session.next()) {
      extras = {extras[0] + 1, static_cast<float>(rank)};
      own.compute();
    }
    const auto parameters = own.session.parameters();
    const auto mine = models.part(rank, job.elements() + 2);
    std::copy(extras.begin(), extras.end(), std::copy(parameters.begin(), parameters.end(), mine.begin()));
  });
}

void expect_final_mean(const std::string& strategy, const OptionTexts& texts, int workers, bool equal) {
  const Job job(simulation_of(strategy, texts, workers));
  const std::size_t size = job.elements() + 2, count = static_cast<std::size_t>(workers) * size;
  SessionOptions options = job.setting();
  options.equal_models = equal;
  Board own(count), mean(count);
  for (const launch::Outcome& outcome : train(job, options, own))
    EXPECT_TRUE(outcome.good()) << outcome.error;
  options.final_model = FinalModel::kMean;
  for (const launch::Outcome& outcome : train(job, options, mean))
    EXPECT_TRUE(outcome.good()) << outcome.error;
  for (std::size_t i = 0; i < size; ++i) {
    float sum = own.part(0, size)[i];
    for (std::size_t rank = 1; rank < static_cast<std::size_t>(workers); ++rank)
      sum += own.part(rank, size)[i];
    const float expected =
        equal && i < job.elements() ? own.part(0, size)[i] : sum / static_cast<float>(workers);
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(workers); ++rank)
      EXPECT_EQ(mean.part(rank, size)[i], expected) << strategy << " rank " << rank << " element " << i;
  }
}

TEST(ModelMean, EveryWorkerEndsWithTheMeanOfAll) {
  expect_final_mean("dpsgd", {}, 4, false);
  expect_final_mean("local-sgd", {{"period", "3"}}, 3, false);
  expect_final_mean("allreduce", {}, 1, true);
}

// Three times a number over three may have other bits; only the extras are averaged.
TEST(ModelMean, EqualParametersKeepTheirBits) {
  expect_final_mean("allreduce", {}, 3, true);
  expect_final_mean("ps", {{"server", "beside"}}, 3, true);
  expect_final_mean("ps", {}, 2, true);
}

// A little time that no clock measures.
void spin(int turns) {
  std::atomic<int> turn = 0;
  while (turn < turns) ++turn;
}

// The coordinator is killed at any time around the end; whoever lives ends with the same model.
TEST(ModelMean, SurvivesTheLossOfTheCoordinatorAtAnyTime) {
  const Job job(simulation_of("dpsgd", {}, 4));
  SessionOptions options = job.setting();
  options.final_model = FinalModel::kMean;
  const std::size_t size = job.elements() + 2;
  for (int round = 0; round < 40; ++round) {
    Board models(4 * size), finishing(1);
    launch::ForkedRanks ranks(4, [&](transport::Transport& net) {
      const auto rank = static_cast<std::size_t>(net.rank());
      std::vector<float> extras(2);
      Callbacks callbacks;
      callbacks.extras = {std::span<float>(extras)};
      JobSession own(job, net, options, callbacks);
      while (own.session.next()) {
        if (rank == 0 && own.session.step() == options.steps)
          std::atomic_ref(finishing.part(0, 1)[0]).store(1);
        own.compute();
      }
      const auto parameters = own.session.parameters();
      const auto mine = models.part(rank, size);
      std::copy(extras.begin(), extras.end(), std::copy(parameters.begin(), parameters.end(), mine.begin()));
    });
    while (std::atomic_ref(finishing.part(0, 1)[0]).load() == 0) std::this_thread::yield();
    spin(4000 * round);
    ranks.kill(0, SIGKILL);
    const std::vector<launch::Outcome> outcomes = ranks.wait();
    for (std::size_t rank = 1; rank < 4; ++rank) {
      ASSERT_TRUE(outcomes[rank].good()) << "round " << round << ": " << outcomes[rank].error;
      for (std::size_t i = 0; i < size; ++i)
        ASSERT_EQ(models.part(rank, size)[i], models.part(1, size)[i]) << "round " << round;
    }
  }
}

// Models that never change, a different one on each rank; rank 0 asks while the others wait for its gradient.
TEST(ModelMean, InTheMiddleOfARunItWaitsForNoStep) {
  sim::Simulation simulation = simulation_of("dpsgd", {}, 3);
  simulation.optimizer.learning_rate = 0;
  const Job job(simulation);
  SessionOptions options = job.setting();
  options.own_models = true;
  options.publish_every = Duration(0);
  const auto outcomes = testing::run_ranks(job, options, [&](transport::Transport& net) {
    const auto rank = static_cast<float>(net.rank());
    std::vector<float> extras{rank, 1};
    Callbacks callbacks;
    callbacks.extras = {std::span<float>(extras)};
    JobSession own(job, net, options, callbacks, std::vector<float>(job.elements(), 2));
    while (own.session.next()) {
      const std::vector<float> before(own.session.parameters().begin(), own.session.parameters().end());
      if (net.rank() == 0 || own.session.step() % 3 == 0) {
        const std::vector<float> mean = own.session.mean();
        check_equal(mean.size(), job.elements() + 2, "size");
        check_equal(mean[0], 2.0F, "parameters");
        check_equal(mean[job.elements()], 1.0F, "extras");
      }
      check(std::equal(before.begin(), before.end(), own.session.parameters().begin()), "the own model");
      own.compute();
    }
  });
  for (const launch::Outcome& outcome : outcomes) EXPECT_TRUE(outcome.good()) << outcome.error;
}

TEST(ModelMean, InTheMiddleTheLostDoNotCount) {
  const Job job(simulation_of("dpsgd", {}, 3));
  SessionOptions options = job.setting();
  options.publish_every = Duration(0);
  const auto outcomes = testing::run_ranks(job, options, [&](transport::Transport& net) {
    JobSession own(job, net, options);
    for (std::uint64_t batch = 1; own.session.next(); ++batch) {
      if (net.rank() == 1 && batch == 4) raise(SIGKILL);
      own.session.mean();
      own.compute();
    }
  });
  EXPECT_TRUE(outcomes[0].good()) << outcomes[0].error;
  EXPECT_TRUE(outcomes[2].good()) << outcomes[2].error;
}

TEST(ModelMean, IsRefusedWhereNobodyPublishes) {
  const Job job(simulation_of("dpsgd", {}, 2));
  const SessionOptions options = job.setting();
  const auto outcomes = testing::run_ranks(job, options, [&](transport::Transport& net) {
    JobSession own(job, net, options);
    check(own.session.next(), "a batch");
    bool refused = false;
    try {
      own.session.mean();
    } catch (const InvalidArgument&) {
      refused = true;
    }
    check(refused, "refused");
    own.compute();
    while (own.session.next()) own.compute();
  });
  for (const launch::Outcome& outcome : outcomes) EXPECT_TRUE(outcome.good()) << outcome.error;
}

}  // namespace
}  // namespace starling::session
