// Processes killed at random times: any rank, including the one with the active group generator, and during
// any activity: asking, answering, averaging, computing, or after its last step.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "starling/launch/forked_ranks.h"
#include "tests/session/jobs.h"

namespace starling::session {
namespace {

using strategy::OptionTexts;
using testing::Board;
using testing::Job;
using testing::JobSession;

constexpr int kRanks = 4;

// Trains, reports its progress, and leaves its model on the board.
void train(const Job& job, transport::Transport& net, Board& models, Board& steps) {
  const auto rank = static_cast<std::size_t>(net.rank());
  JobSession own(job, net, job.setting());
  while (own.session.next()) {
    steps.part(rank, 1)[0] += 1;
    own.compute();
  }
  const std::span<const float> model = own.session.parameters();
  std::copy(model.begin(), model.end(), models.part(rank, model.size()).begin());
}

// Leaves an ended process for ForkedRanks::wait().
bool runs(pid_t pid) {
  siginfo_t ended{};
  return waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
}

// When all have begun and the victim has begun some step. False if it had ended before.
bool kill_at_random(const std::string& strategy, const OptionTexts& options, Rank victim, Random& random) {
  sim::Simulation simulation = testing::simulation_of(strategy, options, kRanks);
  constexpr int kSteps = 500;
  simulation.steps = kSteps;
  const Job job(simulation);
  Board models(kRanks * job.elements()), steps(kRanks);
  launch::ForkedRanks ranks(kRanks, [&](transport::Transport& net) { train(job, net, models, steps); });
  const auto when = static_cast<float>(random.between(1, kSteps * 3 / 4));
  const auto begun = [&](std::size_t rank, float step) {
    const volatile float& at = steps.part(rank, 1)[0];
    return at >= step;
  };
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const float step = static_cast<Rank>(rank) == victim ? when : 1;
    while (!begun(rank, step) && runs(ranks.pid(static_cast<Rank>(rank)))) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  ranks.kill(victim, SIGKILL);
  const std::vector<launch::Outcome> outcomes = ranks.wait();
  // Half of it is far above what the noise of the gradients leaves in a single worker's model.
  const double before = simulation.workload->evaluate(job.initial_model()).loss;
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (static_cast<Rank>(rank) == victim) continue;
    EXPECT_TRUE(outcomes[rank].good()) << strategy << ", victim " << victim << ", rank " << rank << ": "
                                       << outcomes[rank].error << outcomes[rank].signal;
    EXPECT_LT(simulation.workload->evaluate(models.part(rank, job.elements())).loss, before / 2);
  }
  return outcomes[static_cast<std::size_t>(victim)].signal == SIGKILL;
}

void kill_some(const std::string& strategy, const std::vector<OptionTexts>& variants) {
  Random random(11);
  int killed = 0, trials = 0;
  for (const OptionTexts& options : variants) {
    for (Rank victim = 0; victim < kRanks; ++victim, ++trials) {
      killed += kill_at_random(strategy, options, victim, random) ? 1 : 0;
    }
  }
  EXPECT_GE(killed, trials / 2);
}

TEST(RandomKill, PairsGoOn) { kill_some("adpsgd", {{}, {{"graph", "any"}}}); }

TEST(RandomKill, GroupsGoOn) {
  kill_some("ripples", {{},
                        {{"groups", "static"}},
                        {{"groups", "random"}},
                        {{"groups", "ready"}},
                        {{"groups", "smart"}, {"overlap", "1"}}});
}

TEST(RandomKill, ElasticWorkersGoOn) {
  kill_some("easgd", {{},
                      {{"overlap", "on"}},
                      {{"centre", "sharded"}},
                      {{"order", "round-robin"}},
                      {{"order", "round-robin"}, {"centre", "sharded"}},
                      {{"order", "sync"}}});
  kill_some("ea-wild", {{}});
}

TEST(RandomKill, WorkersThatDivideBatchesGoOn) {
  kill_some("nonblocking", {{},
                            {{"late", "drop"}},
                            {{"trigger", "quorum:3"}},
                            {{"base", "dpsgd"}},
                            {{"base", "matcha"}, {"late", "drop"}},
                            {{"base", "ripples"}}});
  kill_some("allreduce", {{{"balance", "speed"}}});
  kill_some("dear", {{{"balance", "speed"}}});
}

TEST(RandomKill, WorkersOfOneModelGoOn) { kill_some("hogwild", {{}}); }

}  // namespace
}  // namespace starling::session
