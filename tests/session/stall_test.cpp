// Sessions whose engines stand still, or seem to.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "tests/session/jobs.h"

namespace starling::session {
namespace {

using namespace std::chrono_literals;
using testing::Job;
using testing::JobSession;
using testing::simulation_of;

constexpr Duration kStallLimit = 200ms;

// The engine calls it, and the others wait.
TEST(Stall, AProgramMayTakeItsTimeToShowTheProgress) {
  const Job job(simulation_of("allreduce", {}, 2));
  Session::Options setting = job.setting();
  setting.report = true;
  setting.stall_limit = kStallLimit;
  const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
    Callbacks callbacks;
    callbacks.show = [](const std::vector<Progress>&) { std::this_thread::sleep_for(3 * kStallLimit); };
    JobSession own(job, net, setting, callbacks);
    while (own.session.next()) own.compute();
    own.session.collect();
  });
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.good()) << outcome.error << outcome.signal;
}

// Its gradient takes longer than an engine may stand still; the engine runs all the time.
TEST(Stall, AProgramMayComputeForLong) {
  const Job job(simulation_of("allreduce", {}, 2));
  Session::Options setting = job.setting();
  setting.stall_limit = kStallLimit;
  const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
    JobSession own(job, net, setting);
    for (int step = 0; own.session.next(); ++step) {
      if (net.rank() == 1 && step == 3) std::this_thread::sleep_for(3 * kStallLimit);
      own.compute();
    }
  });
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.good()) << outcome.error << outcome.signal;
}

TEST(Stall, TheOthersEndAWorkerThatIsStopped) {
  const Job job(simulation_of("dpsgd", {}, 3));
  Session::Options setting = job.setting();
  setting.stall_limit = kStallLimit;
  const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
    JobSession own(job, net, setting);
    for (int step = 0; own.session.next(); ++step) {
      if (net.rank() == 1 && step == 3) raise(SIGSTOP);
      own.compute();
    }
  });
  EXPECT_TRUE(outcomes[0].good()) << outcomes[0].error;
  EXPECT_EQ(outcomes[1].signal, SIGKILL);
  EXPECT_TRUE(outcomes[2].good()) << outcomes[2].error;
}

}  // namespace
}  // namespace starling::session
