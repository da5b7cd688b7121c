// Ranks that stand still are ended by the others of their host; ranks that merely rest are not.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "starling/core/error.h"
#include "starling/launch/forked_ranks.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/run.h"
#include "starling/transport/shm/shm.h"
#include "tests/support/check.h"

namespace starling::transport {
namespace {

using namespace std::chrono_literals;
using launch::ForkedRanks;
using runtime::Task;
using testing::check;
using testing::check_contains;

constexpr Tag kStallTag = 1;

// Every rank says something to every other and waits for what they say.
Task<> meet_all(Transport& net, Tag tag) {
  for (Rank other = 0; other < net.size(); ++other) {
    if (other != net.rank()) co_await net.send(other, tag, {});
  }
  for (Rank other = 0; other < net.size(); ++other) {
    if (other != net.rank()) co_await net.recv(other, tag, {});
  }
}

std::string loss_of(Transport& net, Rank rank) {
  try {
    runtime::run(net.scheduler(), [](Transport& from, Rank peer) -> Task<> {
      co_await from.recv(peer, kStallTag + 1, {});
    }(net, rank));
  } catch (const PeerLost& error) {
    return error.what();
  }
  throw Error("the receive ended well");
}

void expect_ended(ForkedRanks& ranks, const std::vector<Rank>& killed = {}) {
  const auto outcomes = ranks.wait();
  for (Rank rank = 0; rank < static_cast<int>(outcomes.size()); ++rank) {
    const auto& outcome = outcomes[static_cast<std::size_t>(rank)];
    if (std::find(killed.begin(), killed.end(), rank) != killed.end()) {
      EXPECT_EQ(outcome.signal, SIGKILL) << "rank " << rank;
    } else {
      EXPECT_TRUE(outcome.good()) << "rank " << rank << ": " << outcome.error << ", signal "
                                  << outcome.signal;
    }
  }
}

void wait_until_stopped(pid_t pid) {
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, WUNTRACED), pid);
  ASSERT_TRUE(WIFSTOPPED(status)) << status;
}

TEST(ShmStall, AStoppedRankIsEnded) {
  ForkedRanks ranks(3, [](Transport& net) {
    net.begin_beating(200ms);
    runtime::run(net.scheduler(), meet_all(net, kStallTag));
    if (net.rank() == 1) raise(SIGSTOP);
    const std::string why = loss_of(net, 1);
    check_contains(why, "rank 1 lost");
    check_contains(why, "it stood still for 200 ms, and rank ");
    check_contains(why, " ended it");
  });
  expect_ended(ranks, {1});
}

TEST(ShmStall, ARankThatGoesOnInTimeLives) {
  ForkedRanks ranks(2, [](Transport& net) {
    net.begin_beating(100s);
    if (net.rank() == 1) raise(SIGSTOP);
    runtime::run(net.scheduler(), meet_all(net, kStallTag));
  });
  wait_until_stopped(ranks.pid(1));
  ranks.kill(1, SIGCONT);
  expect_ended(ranks);
}

// A program may do for hours without its engine, before and after the training.
TEST(ShmStall, ARankThatDoesNotBeatIsNotJudged) {
  ForkedRanks ranks(2, [](Transport& net) {
    runtime::run(net.scheduler(), meet_all(net, kStallTag));
    net.begin_beating(100ms);
    if (net.rank() == 1) {
      net.end_beating();
      std::this_thread::sleep_for(500ms);
    }
    runtime::run(net.scheduler(), meet_all(net, kStallTag));
  });
  expect_ended(ranks);
}

// A program whose functions the engine calls begins and ends often. Its looks must not come faster for that.
TEST(ShmStall, WhoBeginsOftenIsNotImpatient) {
  ForkedRanks ranks(2, [](Transport& net) {
    net.begin_beating(2s);
    runtime::run(net.scheduler(), meet_all(net, kStallTag));
    for (int i = 0; net.rank() == 0 && i < 100; ++i) {
      net.end_beating();
      net.begin_beating(2s);
    }
    runtime::run(net.scheduler(), meet_all(net, kStallTag));
  });
  expect_ended(ranks);
}

// Nor may the others take it for one that stands still.
Task<> begin_often(Transport& net, Duration limit) {
  const Time end = net.scheduler().now() + 5 * limit;
  while (net.scheduler().now() < end) {
    net.end_beating();
    net.begin_beating(limit);
    co_await runtime::sleep_for(limit / 40);
  }
}

TEST(ShmStall, WhoBeginsOftenDoesNotSeemToStandStill) {
  ForkedRanks ranks(2, [](Transport& net) {
    net.begin_beating(200ms);
    runtime::run(net.scheduler(), meet_all(net, kStallTag));
    if (net.rank() == 0) runtime::run(net.scheduler(), begin_often(net, 200ms));
    runtime::run(net.scheduler(), meet_all(net, kStallTag));
  });
  expect_ended(ranks);
}

// As when a machine sleeps: everybody stands still for longer than the limit.
TEST(ShmStall, RanksThatStoodStillTogetherBlameNobody) {
  ForkedRanks ranks(3, [](Transport& net) {
    net.begin_beating(200ms);
    runtime::run(net.scheduler(), meet_all(net, kStallTag));
    raise(SIGSTOP);
    runtime::run(net.scheduler(), meet_all(net, kStallTag));
    runtime::run(net.scheduler(), runtime::sleep_for(400ms));
    runtime::run(net.scheduler(), meet_all(net, kStallTag));
  });
  for (Rank rank = 0; rank < 3; ++rank) wait_until_stopped(ranks.pid(rank));
  std::this_thread::sleep_for(600ms);
  for (Rank rank = 0; rank < 3; ++rank) ranks.kill(rank, SIGCONT);
  expect_ended(ranks);
}

// The rank that has begun to end another dies in the middle of it.
TEST(ShmStall, AnotherRankFinishesTheJob) {
  const auto arena = shm::Arena::create(3);
  constexpr std::uint64_t kTwoEndsOne = std::uint64_t{3} << 32 | 2;
  std::vector<pid_t> pids;
  for (Rank rank = 0; rank < 3; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      runtime::LoopScheduler loop;
      ShmTransport net(loop, arena, rank);
      net.begin_beating(200ms);
      runtime::run(loop, meet_all(net, kStallTag));
      if (rank == 1) raise(SIGSTOP);
      if (rank == 2) {
        arena->header().eviction.store(kTwoEndsOne);
        raise(SIGKILL);
      }
      _exit(loss_of(net, 1).find("rank 0 ended it") != std::string::npos ? 0 : 1);
    }
    pids.push_back(pid);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pids[0], &status, 0), pids[0]);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  waitpid(pids[1], &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  waitpid(pids[2], &status, 0);
}

TEST(ShmStall, ARankInADebuggerIsLeftAlone) {
  ForkedRanks ranks(2, [](Transport& net) {
    net.begin_beating(100ms);
    runtime::run(net.scheduler(), meet_all(net, kStallTag));
    if (net.rank() == 1) raise(SIGSTOP);
    runtime::run(net.scheduler(), meet_all(net, kStallTag));
  });
  const pid_t pid = ranks.pid(1);
  if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0) {
    for (Rank rank = 0; rank < 2; ++rank) ranks.kill(rank, SIGKILL);
    GTEST_SKIP() << "this system does not allow tracing";
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFSTOPPED(status)) << status;
  std::this_thread::sleep_for(500ms);
  ranks.kill(1, SIGCONT);
  ASSERT_EQ(ptrace(PTRACE_DETACH, pid, 0, 0), 0);
  expect_ended(ranks);
}

// A launcher's wrapper, such as a shell, may start the program twice.
TEST(ShmIdentity, TwoProcessesCannotBeOneRank) {
  const auto arena = shm::Arena::create(1);
  ASSERT_TRUE(arena->claim(0, identity_of(getppid())));
  runtime::LoopScheduler loop;
  try {
    const ShmTransport net(loop, arena, 0);
    FAIL() << "two processes are rank 0";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(concat("process ", getppid())), std::string::npos)
        << error.what();
  }
}

// The wrapper ends, the program that it has started lives on.
TEST(ShmIdentity, TheProcessThatJoinedCounts) {
  runtime::LoopScheduler loop;
  const auto arena = shm::Arena::create(2);
  const pid_t wrapper = fork();
  if (wrapper == 0) {
    pause();
    _exit(0);
  }
  ShmTransport net(loop, arena, 0);
  arena->introduce(1, wrapper);
  runtime::run(loop, runtime::sleep_for(1ms));  // it is watched now
  ASSERT_TRUE(arena->claim(1, identity_of(getpid())));
  arena->enter(1);
  kill(wrapper, SIGKILL);
  waitpid(wrapper, nullptr, 0);
  runtime::run(loop, runtime::sleep_for(20ms));
  EXPECT_FALSE(net.lost(1));
}

}  // namespace
}  // namespace starling::transport
