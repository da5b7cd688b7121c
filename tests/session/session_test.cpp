// Strategies on real processes: the same code and, where sums have the same order, the same bits as
// simulated.
#include "starling/session/session.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "starling/core/error.h"
#include "starling/join/run_environment.h"
#include "starling/launch/forked_ranks.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/session/service_rank.h"
#include "tests/session/jobs.h"
#include "tests/support/check.h"

namespace starling::session {
namespace {

using strategy::OptionTexts;
using testing::Board;
using testing::Job;
using testing::simulation_of;

// One rank's life; `step` is told the number of each batch.
void live(
    const Job& job, transport::Transport& net, Board& board,
    const std::function<void(std::uint64_t)>& step = [](std::uint64_t) {}) {
  if (net.rank() >= job.workers) return run_service(net, *job.strategy, job.setting());
  // Only rank 0's model counts.
  const std::vector<float> model =
      net.rank() == 0 ? job.initial_model() : std::vector<float>(job.elements(), 7.0F);
  Session session(static_cast<runtime::LoopScheduler&>(net.scheduler()), net, *job.strategy, job.setting(),
                  model);
  Random random = job.data(net.rank());
  const sim::Workload& workload = *job.simulation.workload;
  for (std::uint64_t batch = 1; session.next(); ++batch) {
    step(batch);
    const double loss =
        workload.gradient(net.rank(), session.parameters(), session.gradients(), workload.batch(), random);
    session.computed({.samples = workload.batch(), .loss = loss});
  }
  const std::span<float> result = session.parameters();
  std::copy(result.begin(), result.end(),
            board.part(static_cast<std::size_t>(net.rank()), result.size()).begin());
}

void expect_as_simulated(const std::string& strategy, const OptionTexts& options, int workers,
                         float tolerance, const std::optional<transport::Link>& link = {}) {
  sim::Simulation simulation = simulation_of(strategy, options, workers);
  simulation.optimizer.momentum = 0.9;
  const auto simulated = testing::run_to_end(simulation).models;
  const Job job(simulation);
  Board board(static_cast<std::size_t>(workers) * job.elements());
  launch::ForkedRanks ranks(
      job.ranks(), [&](transport::Transport& net) { live(job, net, board); }, link);
  for (const launch::Outcome& outcome : ranks.wait())
    EXPECT_TRUE(outcome.good()) << outcome.error << outcome.signal;
  for (std::size_t rank = 0; rank < simulated.size(); ++rank) {
    const std::span<const float> real = board.part(rank, job.elements());
    for (std::size_t i = 0; i < real.size(); ++i) {
      EXPECT_NEAR(real[i], simulated[rank][i], tolerance * (1 + std::abs(simulated[rank][i])))
          << strategy << ", rank " << rank << ", element " << i;
    }
  }
}

TEST(Session, TwoWorkersHaveTheBitsOfTheSimulation) {
  expect_as_simulated("allreduce", {}, 2, 0);
  expect_as_simulated("local-sgd", {{"period", "3"}}, 2, 0);
  expect_as_simulated("ps", {}, 2, 0);
  expect_as_simulated("ps", {{"server", "beside"}}, 2, 0);
  expect_as_simulated("dpsgd", {}, 2, 0);
  expect_as_simulated("ripples", {{"groups", "static"}}, 2, 0);
  expect_as_simulated("ripples", {{"groups", "static"}, {"average", "momentum"}}, 2, 0);
}

// Sums over more workers may be taken in another order.
TEST(Session, MoreWorkersComeCloseToTheSimulation) {
  expect_as_simulated("allreduce", {}, 5, 1e-5F);
  expect_as_simulated("local-sgd", {{"period", "4"}, {"adapt", "adacomm"}, {"check", "1"}}, 4, 1e-5F);
  expect_as_simulated("ps", {}, 4, 1e-5F);
  expect_as_simulated("dpsgd", {{"graph", "complete"}}, 4, 1e-5F);
  expect_as_simulated("ripples", {{"groups", "static"}, {"group-size", "2"}}, 4, 1e-5F);
}

// Strategies that are not deterministic on real time still have to end, with all steps done and the loss
// down: to half, which is far above the noise that the gradients leave in a single worker's model.
TEST(Session, AsynchronousOnesTrain) {
  for (const auto& [strategy, options] : {std::pair<std::string, OptionTexts>{"ps", {{"mode", "asp"}}},
                                          {"allreduce", {}},
                                          {"allreduce", {{"schedule", "ddp"}}},
                                          {"allreduce", {{"schedule", "priority"}}},
                                          {"allreduce", {{"schedule", "horovod"}}},
                                          {"allreduce", {{"algorithm", "ring"}}},
                                          {"local-sgd", {{"period", "3"}}},
                                          {"local-sgd", {{"period", "3"}, {"period-by", "speed"}}},
                                          {"dear", {}},
                                          {"dear", {{"gather", "gradients"}}},
                                          {"dear", {{"algorithm", "ring"}}},
                                          {"ps", {{"mode", "ssp"}, {"staleness", "2"}}},
                                          {"ps", {{"mode", "ssp"}, {"server", "beside"}}},
                                          {"ps", {{"mode", "bsp"}, {"backup", "1"}}},
                                          {"adpsgd", {}},
                                          {"adpsgd", {{"graph", "any"}}},
                                          {"ripples", {}},
                                          {"ripples", {{"groups", "random"}}},
                                          {"ripples", {{"groups", "ready"}, {"weights", "staleness"}}},
                                          {"ripples", {{"overlap", "1"}, {"average", "momentum"}}}}) {
    sim::Simulation simulation = simulation_of(strategy, options, 4);
    simulation.steps = 60;
    const Job job(simulation);
    Board board(4 * job.elements());
    launch::ForkedRanks ranks(job.ranks(), [&](transport::Transport& net) { live(job, net, board); });
    for (const launch::Outcome& outcome : ranks.wait())
      EXPECT_TRUE(outcome.good()) << outcome.error << outcome.signal;
    const double before = simulation.workload->evaluate(job.initial_model()).loss;
    EXPECT_LT(simulation.workload->evaluate(board.part(0, job.elements())).loss, before / 2);
  }
}

// Worker 1 is killed in its fifth step; the others have two hundred to do.
std::vector<launch::Outcome> kill_one(const std::string& strategy, const OptionTexts& options, int workers,
                                      bool end_on_loss = false) {
  sim::Simulation simulation = simulation_of(strategy, options, workers);
  simulation.steps = 200;
  Job job(simulation);
  job.end_on_loss = end_on_loss;
  Board board(static_cast<std::size_t>(workers) * job.elements());
  launch::ForkedRanks ranks(job.ranks(), [&](transport::Transport& net) {
    live(job, net, board, [&](std::uint64_t batch) {
      if (net.rank() == 1 && batch == 5) raise(SIGKILL);
    });
  });
  return ranks.wait();
}

TEST(Session, OthersGoOnAfterADeathWhereTheStrategyPromisesIt) {
  for (const auto& [strategy, options] : {std::pair<std::string, OptionTexts>{"ps", {{"mode", "asp"}}},
                                          {"ps", {{"mode", "bsp"}}},
                                          {"ps", {{"mode", "ssp"}, {"server", "beside"}}},
                                          {"dpsgd", {}},
                                          {"adpsgd", {}},
                                          {"adpsgd", {{"graph", "any"}}},
                                          {"ripples", {}},
                                          {"ripples", {{"groups", "random"}}},
                                          {"ripples", {{"groups", "ready"}, {"weights", "staleness"}}},
                                          {"ripples", {{"overlap", "1"}, {"average", "momentum"}}}}) {
    const std::vector<launch::Outcome> outcomes = kill_one(strategy, options, 4);
    for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
      if (rank == 1) {
        EXPECT_EQ(outcomes[rank].signal, SIGKILL);
      } else {
        EXPECT_TRUE(outcomes[rank].good()) << strategy << ", rank " << rank << ": " << outcomes[rank].error;
      }
    }
  }
}

TEST(Session, OthersEndNamingTheDeadIfThatIsWanted) {
  for (const std::string strategy : {"allreduce", "local-sgd", "dear"}) {
    const std::vector<launch::Outcome> outcomes = kill_one(strategy, {}, 3, true);
    for (const std::size_t rank : {0, 2}) {
      EXPECT_NE(outcomes[rank].error.find("lost"), std::string::npos)
          << strategy << ": " << outcomes[rank].error;
    }
  }
}

TEST(Session, AProgramThatLeavesEarlyIsLostToTheOthers) {
  Job job(simulation_of("allreduce", {}, 2));
  job.end_on_loss = true;
  Board board(2 * job.elements());
  launch::ForkedRanks ranks(2, [&](transport::Transport& net) {
    live(job, net, board, [&](std::uint64_t batch) {
      if (net.rank() == 1 && batch == 3) throw Error("the user's own error");
    });
  });
  const std::vector<launch::Outcome> outcomes = ranks.wait();
  EXPECT_NE(outcomes[0].error.find("rank 1 lost"), std::string::npos) << outcomes[0].error;
  EXPECT_EQ(outcomes[1].error, "the user's own error");
}

// On one rank, in this process.
template <class Body>
void with_session(const strategy::Strategy& strategy, Session::Options setting, Callbacks callbacks,
                  const Body& body) {
  launch::ForkedRanks ranks(1, [&](transport::Transport& net) {
    setting.sections = {{"x", 0, 3}};
    const std::vector<float> model{1, 2, 3};
    Session session(static_cast<runtime::LoopScheduler&>(net.scheduler()), net, strategy, setting, model,
                    callbacks);
    body(session);
  });
  for (const launch::Outcome& outcome : ranks.wait()) EXPECT_TRUE(outcome.good()) << outcome.error;
}

TEST(Session, TheUsersOwnUpdateRunsOnTheUsersThread) {
  const auto& row = strategy::find_strategy("allreduce");
  const auto allreduce = row.make(strategy::Options::parse(row.options, row.name, {}), 1);
  const auto user = std::this_thread::get_id();  // the child's main thread has the parent's id
  int updates = 0;
  with_session(*allreduce, {},
               {.update =
                    [&](Slice part, std::uint64_t) {
                      testing::check(std::this_thread::get_id() == user, "the thread of the user");
                      testing::check_equal(part.size(), 3U, "the part");
                      ++updates;
                    }},
               [&](Session& session) {
                 for (int step = 0; step < 4; ++step) {
                   testing::check(session.next(), "a batch is wanted");
                   session.computed({.samples = 1, .loss = 0.5});
                 }
                 session.finish();
                 testing::check_equal(updates, 4, "updates");
                 testing::check(!session.next(), "it is over");
                 testing::check_equal(session.journal().steps, 4U, "steps");
               });
}

// An update takes its time; the worker was free to go on before it.
TEST(Session, AWorkerIsFreeFromItsUpdateOn) {
  static constexpr auto kUpdate = std::chrono::milliseconds(3);
  const auto& row = strategy::find_strategy("allreduce");
  const auto allreduce = row.make(strategy::Options::parse(row.options, row.name, {}), 1);
  with_session(*allreduce, {}, {.update = [](Slice, std::uint64_t) { std::this_thread::sleep_for(kUpdate); }},
               [&](Session& session) {
                 for (int step = 0; step < 3; ++step) {
                   testing::check(session.next(), "a batch is wanted");
                   const bool updated = step > 0;
                   testing::check(!updated || session.free_for() >= kUpdate, "free since before the update");
                   session.computed({.samples = 1, .loss = 0.5});
                 }
                 session.finish();
               });
}

TEST(Session, RanksWithLinksAreHostsOfTheirOwn) {
  join::RunEnvironment environment{
      .rank = 0, .workers = 3, .ranks = 4, .arena = {}, .strategy = "ps", .options = {}, .link = {}};
  EXPECT_EQ(in_run(environment, {}).workers, 3);
  EXPECT_EQ(in_run(environment, {}).host_of_rank, std::vector<int>());
  environment.link = transport::Link{};
  EXPECT_EQ(in_run(environment, {}).host_of_rank, (std::vector<int>{0, 1, 2, 3}));
  Session::Options given;
  given.host_of_rank = {0, 0, 1, 1};
  EXPECT_EQ(in_run(environment, given).host_of_rank, given.host_of_rank);
}

// The bits of the simulation, where the transport's own collectives are those of a network too.
TEST(Session, LinkedWorkersHaveTheBitsOfTheSimulation) {
  const transport::Link link{1e9, std::chrono::microseconds(20)};
  expect_as_simulated("allreduce", {}, 4, 0, link);
  expect_as_simulated("ps", {}, 2, 0, link);
  expect_as_simulated("dpsgd", {}, 4, 0, link);
}

TEST(Session, WhatAStrategyThrowsReachesTheUser) {
  class Broken final : public strategy::Strategy {
   public:
    runtime::Task<> run(strategy::Worker& self) const override {
      co_await self.compute();
      throw InvalidArgument("a broken strategy");
    }
  };
  const Broken broken;
  with_session(broken, {}, {}, [](Session& session) {
    testing::check(session.next(), "a batch is wanted");
    session.computed({.samples = 1, .loss = 0.5});
    try {
      session.next();
    } catch (const InvalidArgument& error) {
      return testing::check_equal(std::string(error.what()), "a broken strategy", "the error");
    }
    testing::check(false, "it should have thrown");
  });
}

}  // namespace
}  // namespace starling::session
