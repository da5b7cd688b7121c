// Runs that end before their last step: all ranks end, together where they count steps together.
#include "starling/session/background/stop_protocol.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>

#include "tests/session/jobs.h"
#include "tests/support/check.h"

namespace starling::session {
namespace {

using strategy::OptionTexts;
using testing::Board;
using testing::Job;
using testing::JobSession;
using testing::simulation_of;

constexpr std::uint64_t kEndless = 1'000'000'000;

struct Plan {
  std::string strategy;
  OptionTexts options;
  int workers = 4;
};

Job endless(const Plan& plan) {
  sim::Simulation simulation = simulation_of(plan.strategy, plan.options, plan.workers);
  simulation.steps = kEndless;
  return Job(simulation);
}

// Stands for work of random length, without reading a clock.
void dawdle(Random& random) {
  const std::uint64_t turns = random.below(4) == 0 ? random.below(200'000) : random.below(2'000);
  [[maybe_unused]] volatile std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < turns; ++i) sum = i;
}

// Runs until somebody ends it; `step` is told session and number of each batch. Returns the steps by rank.
std::vector<std::uint64_t> steps_of(
    const Job& job, const Session::Options& setting, std::uint64_t seed,
    const std::function<void(Rank rank, Session& session, std::uint64_t batch)>& step, Rank killed = -1) {
  Board board(static_cast<std::size_t>(job.workers));
  const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
    JobSession own(job, net, setting);
    Random pace = Random(seed).fork(static_cast<std::uint64_t>(net.rank()));
    for (std::uint64_t batch = 1; own.session.next(); ++batch) {
      dawdle(pace);
      step(net.rank(), own.session, batch);
      own.compute();
    }
    board.part(static_cast<std::size_t>(net.rank()), 1)[0] = static_cast<float>(own.session.journal().steps);
  });
  std::vector<std::uint64_t> steps;
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (static_cast<Rank>(rank) != killed) {
      EXPECT_TRUE(outcomes[rank].good())
          << "rank " << rank << ": " << outcomes[rank].error << outcomes[rank].signal;
    }
    if (static_cast<Rank>(rank) != killed && static_cast<int>(rank) < job.workers) {
      steps.push_back(static_cast<std::uint64_t>(board.part(rank, 1)[0]));
    }
  }
  return steps;
}

void expect_equal(const std::vector<std::uint64_t>& steps) {
  for (const std::uint64_t count : steps) EXPECT_EQ(count, steps.front());
}

TEST(StopProtocol, OneWorkerStopsAtOnce) {
  const Job job = endless({"allreduce", {}, 1});
  const auto steps = steps_of(job, job.setting(), 1, [](Rank, Session& session, std::uint64_t batch) {
    if (batch == 3) session.stop();
  });
  EXPECT_EQ(steps, std::vector<std::uint64_t>{3});
}

TEST(StopProtocol, AnybodyStopsTheRun) {
  const std::vector<Plan> plans = {{"allreduce", {}, 4},
                                   {"local-sgd", {{"period", "3"}}, 3},
                                   {"local-sgd", {{"period", "3"}, {"period-by", "speed"}}, 3},
                                   {"dpsgd", {}, 5},
                                   {"adpsgd", {}, 5},
                                   {"adpsgd", {{"graph", "any"}}, 4},
                                   {"ripples", {}, 5},
                                   {"ripples", {{"groups", "static"}}, 3},
                                   {"ripples", {{"groups", "random"}}, 4},
                                   {"ripples", {{"groups", "ready"}}, 4},
                                   {"ps", {}, 3},
                                   {"ps", {{"mode", "bsp"}, {"backup", "1"}}, 3},
                                   {"ps", {{"mode", "asp"}, {"server", "beside"}}, 3},
                                   {"ps", {{"mode", "ssp"}, {"staleness", "2"}}, 4}};
  for (const Plan& plan : plans) {
    const Job job = endless(plan);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      Random random(seed);
      const auto who = static_cast<Rank>(random.below(static_cast<std::uint64_t>(plan.workers)));
      const std::uint64_t when = 1 + random.below(40);
      const auto steps =
          steps_of(job, job.setting(), seed, [&](Rank rank, Session& session, std::uint64_t batch) {
            if (rank == who && batch == when) session.stop();
          });
      if (job.strategy->lockstep()) expect_equal(steps);
      EXPECT_GE(steps[static_cast<std::size_t>(who)], when) << plan.strategy;
    }
  }
}

TEST(StopProtocol, AllMayStopAtOnce) {
  const Job job = endless({"allreduce", {}, 3});
  const auto steps = steps_of(job, job.setting(), 5, [&](Rank, Session& session, std::uint64_t batch) {
    if (batch == 7) session.stop();
  });
  expect_equal(steps);
  EXPECT_GE(steps.front(), 7U);
}

TEST(StopProtocol, TheCoordinatorMayDieMeanwhile) {
  const Job job = endless({"dpsgd", {}, 4});
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    const auto who = static_cast<Rank>(1 + random.below(3));
    const std::uint64_t when = 10 + random.below(4), dies = 9 + random.below(6);
    const auto steps = steps_of(
        job, job.setting(), seed,
        [&](Rank rank, Session& session, std::uint64_t batch) {
          if (rank == 0 && batch == dies) raise(SIGKILL);
          if (rank == who && batch == when) session.stop();
        },
        0);
    expect_equal(steps);
    EXPECT_GE(steps.front(), when);
  }
}

TEST(StopProtocol, NoStepBeginsAfterTheTime) {
  for (const Plan& plan : {Plan{"allreduce", {}, 3}, {"ps", {{"mode", "asp"}}, 2}, {"allreduce", {}, 1}}) {
    const Job job = endless(plan);
    Session::Options setting = job.setting();
    setting.until = std::chrono::milliseconds(30);
    const auto steps = steps_of(job, setting, 1, [](Rank, Session&, std::uint64_t) {});
    if (job.strategy->lockstep()) expect_equal(steps);
  }
}

TEST(StopProtocol, ATimeThatHasPassedLeavesNoStep) {
  const Job job = endless({"allreduce", {}, 1});
  Session::Options setting = job.setting();
  setting.until = Duration(0);
  EXPECT_EQ(steps_of(job, setting, 1, [](Rank, Session&, std::uint64_t) {}).front(), 0U);
}

// The request comes when some are done already, or never matters.
TEST(StopProtocol, StepsThatWereSetAreNeverExceeded) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    sim::Simulation simulation = simulation_of("allreduce", {}, 3);
    simulation.steps = 10;
    const Job job(simulation);
    const std::uint64_t when = 8 + seed % 3;
    const auto steps =
        steps_of(job, job.setting(), seed, [&](Rank rank, Session& session, std::uint64_t batch) {
          if (rank == 1 && batch == when) session.stop();
        });
    expect_equal(steps);
    EXPECT_GE(steps.front(), when);
    EXPECT_LE(steps.front(), 10U);
  }
}

TEST(StopProtocol, TimeCountsFromTheCommonOrigin) {
  const Job job = endless({"allreduce", {}, 2});
  steps_of(job, job.setting(), 1, [](Rank, Session& session, std::uint64_t batch) {
    testing::check(session.elapsed() >= Duration(0), "time has come");
    testing::check(session.elapsed() < std::chrono::minutes(10), "time counts from the origin");
    if (batch == 3) session.stop();
  });
}

}  // namespace
}  // namespace starling::session
