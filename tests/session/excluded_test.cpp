// A worker that the others go on without, although it lives.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "starling/membership/view_message.h"
#include "starling/runtime/scope.h"
#include "tests/session/jobs.h"
#include "tests/support/check.h"

namespace starling::session {
namespace {

using testing::check;
using testing::check_equal;
using testing::Job;
using testing::JobSession;
using testing::simulation_of;

constexpr Rank kOutcast = 2;

runtime::Task<> tell_the_outcast(transport::Transport& net) {
  const Bytes bytes = to_bytes(membership::ViewMessage{.kind = membership::ViewMessage::Kind::kDecided,
                                                       .epoch = 2,
                                                       .ballot = {},
                                                       .accepted = {},
                                                       .members = {0, 1},
                                                       .dead = {},
                                                       .unreachable = {}});
  co_await net.send(kOutcast, membership::kViewMessages, bytes);
}

// In its fifth step rank 0 tells the outcast that there is a view without it.
void train_without_outcast(const Job& job, transport::Transport& net) {
  auto& loop = static_cast<runtime::LoopScheduler&>(net.scheduler());
  runtime::Scope scope(loop);
  JobSession own(job, net, job.setting());
  for (int step = 1; own.session.next(); ++step) {
    if (net.rank() == 0 && step == 5) loop.post([&] { scope.spawn(tell_the_outcast(net), "view"); });
    own.compute();
  }
  check_equal(own.session.journal().steps, job.simulation.steps, "steps");
}

void be_the_outcast(const Job& job, transport::Transport& net, std::chrono::milliseconds computing) {
  JobSession own(job, net, job.setting());
  try {
    for (int step = 1; own.session.next(); ++step) {
      if (step >= 5) std::this_thread::sleep_for(computing);
      own.compute();
    }
  } catch (const membership::Excluded& error) {
    check(std::string_view(error.what()).find("rank 2 is no longer part of the run") == 0, error.what());
    return;
  }
  check(false, "the outcast was told so");
}

// While it waits for the others, and while its program computes.
TEST(Excluded, ReachesTheProgramAndTheOthersGoOn) {
  for (const char* strategy : {"allreduce", "ripples"}) {
    for (const auto computing : {std::chrono::milliseconds(0), std::chrono::milliseconds(300)}) {
      sim::Simulation simulation = simulation_of(strategy, {}, 3);
      simulation.steps = 2000;
      const Job job(simulation);
      const auto outcomes = testing::run_ranks(job, job.setting(), [&](transport::Transport& net) {
        if (net.rank() == kOutcast) return be_the_outcast(job, net, computing);
        train_without_outcast(job, net);
      });
      for (const launch::Outcome& outcome : outcomes) EXPECT_TRUE(outcome.good()) << outcome.error;
    }
  }
}

}  // namespace
}  // namespace starling::session
