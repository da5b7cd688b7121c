// Gradients that are not finite, on real processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/session/jobs.h"
#include "tests/support/check.h"

namespace starling::session {
namespace {

using strategy::NonFinite;
using strategy::OptionTexts;
using testing::Board;
using testing::Job;
using testing::simulation_of;
using Outcomes = std::vector<launch::Outcome>;

constexpr int kBadWorker = 1;

// Trains; the gradients of worker 1 in these steps have an element that is not finite.
void train_with_faults(const Job& job, transport::Transport& net, const SessionOptions& options, Slice bad,
                       const std::function<void(Session&)>& at_end) {
  testing::JobSession run(job, net, options);
  const sim::Workload& workload = *job.simulation.workload;
  for (std::uint64_t step = 1; run.session.next(); ++step) {
    const std::span<float> gradients = run.session.gradients();
    const double loss =
        workload.gradient(net.rank(), run.session.parameters(), gradients, workload.batch(), run.random);
    if (net.rank() == kBadWorker && step >= bad.begin && step < bad.end) {
      gradients.back() = std::numeric_limits<float>::infinity();
    }
    run.session.computed({.samples = workload.batch(), .loss = loss});
  }
  at_end(run.session);
}

// Few equal workers, which would make some thousand steps.
Job job_of(const std::string& strategy, const OptionTexts& options, std::uint64_t steps) {
  sim::Simulation simulation = simulation_of(strategy, options, 3);
  simulation.steps = steps;
  return Job(simulation);
}

const std::vector<std::pair<std::string, OptionTexts>> kStrategies = {{"allreduce", {}},
                                                                      {"allreduce", {{"schedule", "ddp"}}},
                                                                      {"dear", {}},
                                                                      {"dear", {{"gather", "gradients"}}},
                                                                      {"local-sgd", {{"period", "2"}}},
                                                                      {"ps", {}},
                                                                      {"ps", {{"mode", "asp"}}},
                                                                      {"dpsgd", {}},
                                                                      {"adpsgd", {}},
                                                                      {"ripples", {}}};

TEST(NonFiniteGradients, WeighNothing) {
  for (const auto& [strategy, options] : kStrategies) {
    const Job job = job_of(strategy, options, 20);
    Board board(3 * job.elements());
    SessionOptions setting = job.setting();
    setting.keep_record = true;
    const Outcomes outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
      train_with_faults(job, net, setting, {3, 6}, [&](Session& session) {
        const std::span<float> result = session.parameters();
        const std::vector<float> model(result.begin(), result.end());
        std::copy(model.begin(), model.end(),
                  board.part(static_cast<std::size_t>(net.rank()), model.size()).begin());
        const auto records = session.collect();
        if (net.rank() != 0) return;
        for (Rank rank = 0; rank < 3; ++rank) {
          testing::check_equal(records[static_cast<std::size_t>(rank)].journal.skipped,
                               std::uint64_t{rank == kBadWorker ? 3U : 0U}, concat("skipped by rank ", rank));
        }
      });
    });
    for (const launch::Outcome& outcome : outcomes) EXPECT_TRUE(outcome.good()) << strategy << outcome.error;
    const bool equal = strategy == "allreduce" || strategy == "dear" || (strategy == "ps" && options.empty());
    for (std::size_t rank = 0; rank < 3; ++rank) {
      const std::span<float> model = board.part(rank, job.elements()), first = board.part(0, job.elements());
      for (std::size_t i = 0; i < model.size(); ++i) {
        EXPECT_TRUE(std::isfinite(model[i])) << strategy;
        EXPECT_TRUE(!equal || model[i] == first[i]) << strategy;
      }
    }
  }
}

// All workers end long before their last step; the one with the gradients says why.
void expect_stop(NonFinite rule, Slice bad, const std::string& why) {
  for (const auto& [strategy, options] : kStrategies) {
    const Job job = job_of(strategy, options, 1'000'000);
    SessionOptions setting = job.setting();
    setting.nonfinite = rule;
    const Outcomes outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
      train_with_faults(job, net, setting, bad, [](Session&) {});
    });
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
      EXPECT_EQ(outcomes[rank].good(), rank != kBadWorker) << strategy << outcomes[rank].error;
    }
    EXPECT_THAT(outcomes[kBadWorker].error, ::testing::HasSubstr(why)) << strategy;
  }
}

TEST(NonFiniteGradients, TenInARowStopTheRun) {
  expect_stop(NonFinite::kSkip, {5, 1'000'000},
              "rank 1: the gradients of 10 steps in a row are not finite, the last is that of step 14");
}

TEST(NonFiniteGradients, TheFirstStopsTheRunIfAsked) {
  expect_stop(NonFinite::kStop, {5, 6}, "rank 1: the gradient of step 5 is not finite; the run stops");
}

}  // namespace
}  // namespace starling::session
