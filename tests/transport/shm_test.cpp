// Properties of shared memory beyond the conformance suite: processes that die, stop, leave, idle, and join
// through a socket.
#include "starling/transport/shm/shm.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "starling/core/error.h"
#include "starling/launch/forked_ranks.h"
#include "starling/runtime/deadline.h"
#include "starling/runtime/run.h"
#include "starling/transport/shm/handover.h"
#include "tests/support/check.h"

namespace starling::transport {
namespace {

using namespace std::chrono_literals;
using launch::ForkedRanks;
using runtime::Task;
using testing::check;
using testing::check_contains;

Task<> receive(Transport& net, Rank from, Tag tag) { co_await net.recv(from, tag, {}); }

template <class E>
std::string failure(Transport& net, Rank from) {
  try {
    runtime::run(net.scheduler(), receive(net, from, 1));
  } catch (const E& error) {
    return error.what();
  }
  throw Error("the receive ended well");
}

void expect_good(ForkedRanks& ranks, Rank except = -1) {
  const auto outcomes = ranks.wait();
  for (Rank rank = 0; rank < static_cast<int>(outcomes.size()); ++rank) {
    if (rank == except) continue;
    const auto& outcome = outcomes[static_cast<std::size_t>(rank)];
    EXPECT_TRUE(outcome.good()) << "rank " << rank << ": " << outcome.error << ", signal " << outcome.signal
                                << ", exit code " << outcome.exit_code;
  }
}

TEST(ShmTest, AKilledPeerIsLostNotLate) {
  ForkedRanks ranks(3, [](Transport& net) {
    net.set_patience(100s);
    if (net.rank() == 2) raise(SIGKILL);
    check_contains(failure<PeerLost>(net, 2), "rank 2 lost");
  });
  expect_good(ranks, 2);
}

TEST(ShmTest, APeerThatLeavesIsLostToo) {
  ForkedRanks ranks(2, [](Transport& net) {
    net.set_patience(100s);
    if (net.rank() == 0) check_contains(failure<PeerLost>(net, 1), "left");
  });
  expect_good(ranks);
}

TEST(ShmTest, AStoppedPeerIsLateNotLost) {
  ForkedRanks ranks(2, [](Transport& net) {
    if (net.rank() == 1) raise(SIGSTOP);
    net.set_patience(50ms);
    if (net.rank() == 0) check_contains(failure<Timeout>(net, 1), "rank 1");
  });
  int status = 0;
  waitpid(ranks.pid(1), &status, WUNTRACED);
  siginfo_t ended{};
  waitid(P_PID, static_cast<id_t>(ranks.pid(0)), &ended, WEXITED | WNOWAIT);
  ranks.kill(1, SIGCONT);
  expect_good(ranks);
}

// A busy loop learns of a death as well: it never parks, and never asks for the dead rank.
Task<> busy_until(Transport& net, Rank lost) {
  while (!net.lost(lost)) co_await runtime::yield();
}

TEST(ShmTest, ABusyLoopNoticesADeath) {
  ForkedRanks ranks(2, [](Transport& net) {
    if (net.rank() == 1) raise(SIGKILL);
    runtime::run(net.scheduler(), runtime::with_deadline(100s, "the loss", busy_until(net, 1)));
  });
  expect_good(ranks, 1);
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// More ranks than cores, all waiting for messages: none spins.
TEST(ShmTest, IdleRanksUseNoCpu) {
  ForkedRanks ranks(8, [](Transport& net) {
    runtime::run(net.scheduler(), runtime::sleep_for(50ms));  // let the others start
    const double before = cpu_seconds();
    const auto start = std::chrono::steady_clock::now();
    net.set_patience(1s);
    failure<Timeout>(net, (net.rank() + 1) % net.size());
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    const double share = (cpu_seconds() - before) / wall.count();
    check(share < 0.02, concat("an idle rank used ", 100 * share, " % of a core"));
    runtime::run(net.scheduler(),
                 runtime::sleep_for(100ms));  // leaving wakes the others: not while they measure
  });
  expect_good(ranks);
}

Task<> swap_greetings(Transport& net) {
  const Rank other = 1 - net.rank();
  const auto greeting = testing::pattern(100'000, static_cast<std::uint64_t>(net.rank()));
  auto sent = net.send(other, 5, greeting);
  std::vector<std::byte> got(100'000);
  co_await net.recv(other, 5, got);
  check(testing::matches(got, static_cast<std::uint64_t>(other)), "greeting");
  co_await sent;
  co_await net.send(other, 6, {});  // no rank leaves before the other has what it needs
  co_await net.recv(other, 6, {});
}

// The second process shares nothing with the first but a socket's name.
TEST(ShmHandoverTest, AnArenaReachesAStrangerThroughASocket) {
  const std::string name = concat("starling-test-", getpid());
  const pid_t stranger = fork();
  if (stranger == 0) {
    int code = 0;
    try {
      runtime::LoopScheduler loop;
      ShmTransport net(loop, shm::fetch_arena(name, 60s), 1);
      net.set_patience(60s);
      runtime::run(loop, swap_greetings(net));
    } catch (const std::exception&) {
      code = 1;
    }
    _exit(code);
  }
  runtime::LoopScheduler loop;
  const auto arena = shm::Arena::create(2);
  const shm::ArenaServer server(loop, arena, name);
  ShmTransport net(loop, arena, 0);
  net.set_patience(60s);
  runtime::run(loop, swap_greetings(net));
  int status = 0;
  waitpid(stranger, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(ShmHandoverTest, NobodyServes) {
  EXPECT_THROW(shm::fetch_arena("starling-nobody", 10ms), Timeout);
  EXPECT_THROW(shm::fetch_arena(std::string(200, 'x'), 10ms), InvalidArgument);
}

TEST(ShmHandoverTest, ATakenNameIsRefused) {
  runtime::LoopScheduler loop;
  const auto arena = shm::Arena::create(1);
  const std::string name = concat("starling-taken-", getpid());
  const shm::ArenaServer server(loop, arena, name);
  EXPECT_THROW(shm::ArenaServer(loop, arena, name), Error);
}

std::set<std::string> shared_files() {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", none)) names.insert(entry.path());
  return names;
}

TEST(ShmTest, NothingIsLeftBehindByACrash) {
  const auto before = shared_files();
  {
    ForkedRanks ranks(2, [](Transport& net) {
      const Memory memory = net.allocate(1 << 20);
      raise(SIGKILL);
    });
    ranks.wait();
  }
  EXPECT_EQ(shared_files(), before);
}

}  // namespace
}  // namespace starling::transport
