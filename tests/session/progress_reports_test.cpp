// The coordinator shows how far all workers are.
#include "starling/session/background/progress_reports.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "tests/session/jobs.h"
#include "tests/support/check.h"

namespace starling::session {
namespace {

using testing::check;
using testing::check_equal;
using testing::Job;
using testing::JobSession;
using testing::simulation_of;

// The run goes on until rank 0 has seen enough, so nothing depends on how long anything takes.
TEST(ProgressReports, AreShownWhileTheRunGoesOn) {
  for (const int workers : {1, 3}) {
    sim::Simulation simulation = simulation_of("allreduce", {}, workers);
    simulation.steps = 1'000'000'000;
    const Job job(simulation);
    Session::Options setting = job.setting();
    setting.report = true;
    const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
      std::vector<std::vector<Progress>> shown;
      std::atomic<int> calls = 0;
      std::thread::id engine;
      Callbacks callbacks;
      callbacks.show = [&](const std::vector<Progress>& all) {
        engine = std::this_thread::get_id();
        shown.push_back(all);
        ++calls;
      };
      JobSession own(job, net, setting, callbacks);
      while (own.session.next()) {
        own.compute();
        if (calls >= 2) own.session.stop();
      }
      own.session.collect();
      if (net.rank() != 0) return check(shown.empty(), "only rank 0 shows");
      check(engine != std::this_thread::get_id(), "on the engine's thread");
      for (const auto& all : shown) {
        check_equal(all.size(), static_cast<std::size_t>(workers), "workers");
        for (std::size_t rank = 0; rank < all.size(); ++rank) {
          check_equal(all[rank].rank, static_cast<Rank>(rank), "the rank");
          check(!all[rank].lost, "not lost");
        }
      }
      const Progress& mine = shown.back()[0];
      check(mine.done, "done at the end");
      check_equal(mine.steps, own.session.journal().steps, "steps");
      check_equal(mine.samples, own.session.journal().samples, "samples");
      check(mine.computing > Duration(0), "it computed");
      check(!std::isnan(shown[1][0].loss), "a loss");
    });
    for (const launch::Outcome& outcome : outcomes) EXPECT_TRUE(outcome.good()) << outcome.error;
  }
}

TEST(ProgressReports, TheLostAreMarkedAndRemembered) {
  sim::Simulation simulation = simulation_of("dpsgd", {}, 3);
  simulation.steps = 1'000'000'000;
  const Job job(simulation);
  Session::Options setting = job.setting();
  setting.report = true;
  setting.keep_record = true;
  testing::Board board(1);
  volatile float& seen = board.part(0, 1)[0];  // rank 0 has shown a status of rank 1
  const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
    std::atomic<bool> lost = false;
    Callbacks callbacks;
    callbacks.show = [&](const std::vector<Progress>& all) {
      if (all[1].steps > 0) seen = 1;
      if (all[1].lost) lost = true;
    };
    JobSession own(job, net, setting, callbacks);
    while (own.session.next()) {
      if (net.rank() == 1 && seen > 0) raise(SIGKILL);
      own.compute();
      if (lost) own.session.stop();
    }
    const auto records = own.session.collect();
    if (net.rank() == 0) check(records[1].journal.steps > 0, "what was known of it");
  });
  EXPECT_TRUE(outcomes[0].good()) << outcomes[0].error;
  EXPECT_TRUE(outcomes[2].good()) << outcomes[2].error;
}

// Rank 1 is given what rank 0 was shown, and is shown the rest, when it knows how far rank 0 was.
TEST(ProgressReports, TheNextWorkerShowsThemWhenRankZeroDies) {
  sim::Simulation simulation = simulation_of("dpsgd", {}, 3);
  simulation.steps = 1'000'000'000;
  const Job job(simulation);
  Session::Options setting = job.setting();
  setting.report = true;
  setting.keep_record = true;
  testing::Board board(1);
  volatile float& seen = board.part(0, 1)[0];  // a copy of a status of rank 0
  const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
    std::atomic<bool> shown = false;
    Callbacks callbacks;
    callbacks.keep_progress = [&](const std::vector<Progress>& all) {
      check_equal(net.rank(), all[0].lost ? 2 : 1, "the one that follows");
      if (all[0].steps > 0) seen = 1;
    };
    callbacks.show = [&](const std::vector<Progress>& all) {
      if (net.rank() == 0) return;
      check(net.rank() == 1 && all[0].lost, "by the next one");
      if (all[1].steps > 0 && all[2].steps > 0) shown = true;
    };
    JobSession own(job, net, setting, callbacks);
    while (own.session.next()) {
      if (net.rank() == 0 && seen > 0) raise(SIGKILL);
      own.compute();
      if (shown) own.session.stop();
    }
    const auto records = own.session.collect();
    if (net.rank() == 1) check(records.at(0).journal.steps > 0, "what was known of it");
  });
  EXPECT_EQ(outcomes[0].signal, SIGKILL);
  for (const std::size_t rank : {1, 2}) EXPECT_TRUE(outcomes[rank].good()) << outcomes[rank].error;
}

}  // namespace
}  // namespace starling::session
