// Processes that count as those of several hosts find each other and train together.
#include "starling/join/join.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "starling/core/byte_codec.h"
#include "starling/core/error.h"
#include "starling/join/host_identity.h"
#include "starling/join/rendezvous.h"
#include "starling/join/run_context.h"
#include "starling/launch/forked_ranks.h"
#include "starling/runtime/deadline.h"
#include "starling/transport/wire/ucx.h"
#include "tests/join/joined.h"
#include "tests/support/check.h"
#include "tests/support/refusal.h"

namespace starling::join {
namespace {

using testing::check;
using testing::check_contains;
using testing::check_equal;
using testing::check_sum;
using testing::free_port;

RunEnvironment standing_of(int rank, int ranks, int port) {
  RunEnvironment environment;
  environment.rank = rank;
  environment.ranks = environment.workers = ranks;
  environment.rendezvous = concat("127.0.0.1:", port);
  environment.token = concat("a secret of this test, ", port);  // memory is found by it, others run beside us
  return environment;
}

// The bodies of `ranks` processes, which are on hosts "h0", "h1", ... in turn.
void on_hosts(int ranks, int hosts, const std::function<void(RunEnvironment)>& body) {
  const int port = free_port();
  launch::ForkedRanks processes(ranks, [&](transport::Transport& known) {
    setenv("STARLING_HOST", concat("h", known.rank() % hosts).c_str(), 1);
    body(standing_of(known.rank(), ranks, port));
  });
  for (const launch::Outcome& outcome : processes.wait()) EXPECT_TRUE(outcome.good()) << outcome.error;
}

TEST(Join, ProcessesOfSeveralHosts) {
  if (!transport::wire::why_no_ucx().empty()) GTEST_SKIP() << transport::wire::why_no_ucx();
  on_hosts(4, 2, [](RunEnvironment environment) {
    RunContext member(std::move(environment));
    check_equal(std::string(member.net().name()), "shm+ucx", "the transport");
    check(member.environment().host_of_rank == std::vector<int>{0, 1, 0, 1}, "who is where");
    check_sum(member.net());
  });
  on_hosts(3, 3, [](RunEnvironment environment) {
    RunContext member(std::move(environment));
    check_equal(std::string(member.net().name()), "ucx", "the transport");
    check_sum(member.net());
  });
}

TEST(Join, ProcessesOfOneHostNeedNoNetwork) {
  for (const char* transport : {"auto", "shm"}) {
    on_hosts(3, 1, [&](RunEnvironment environment) {
      environment.transport = transport;
      RunContext member(std::move(environment));
      check_equal(std::string(member.net().name()), "shm", "the transport");
      check_sum(member.net());
    });
  }
}

TEST(Join, WithoutANetworkOtherHostsAreOutOfReach) {
  on_hosts(2, 2, [](RunEnvironment environment) {
    environment.transport = "shm";
    const std::string refusal = testing::error_text([&] { const RunContext member(environment); });
    check_contains(refusal,
                   concat("rank ", 1 - environment.rank, " is on another host than rank ", environment.rank));
    check_contains(refusal, "STARLING_TRANSPORT is shm");
  });
}

// A process that allows less silence than others keep would lose them without a reason.
TEST(Join, AllMustAllowTheSameSilence) {
  if (!transport::wire::why_no_ucx().empty()) GTEST_SKIP() << transport::wire::why_no_ucx();
  on_hosts(2, 2, [](RunEnvironment environment) {
    const Rank other = 1 - environment.rank;
    if (environment.rank == 1) environment.silence = std::chrono::seconds(2);
    const std::string refusal = testing::error_text([&] { const RunContext member(environment); });
    const auto silence = [](Rank rank) { return rank == 1 ? "2 s" : "5 s"; };
    check_equal(refusal,
                concat("rank ", environment.rank, " allows the others ", silence(environment.rank),
                       " of silence, rank ", other, " ", silence(other), "; set STARLING_SILENCE alike"),
                "the refusal");
  });
}

runtime::Task<> wait_for_nothing(transport::Transport& net, Rank from) { co_await net.recv(from, 1, {}); }

runtime::Task<> say(transport::Transport& net, Rank to) { co_await net.send(to, 1, {}); }
runtime::Task<> hear(transport::Transport& net, Rank from) { co_await net.recv(from, 1, {}); }

// It loads its data, for longer than the silence that is allowed.
TEST(Join, AProgramThatIsBusyAfterItHasJoinedLives) {
  if (!transport::wire::why_no_ucx().empty()) GTEST_SKIP() << transport::wire::why_no_ucx();
  on_hosts(2, 2, [&](RunEnvironment environment) {
    environment.silence = std::chrono::milliseconds(300);
    RunContext member(environment);
    if (environment.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    transport::Transport& net = member.net();
    runtime::run(net.scheduler(), environment.rank == 1 ? say(net, 0) : hear(net, 1));
    runtime::run(net.scheduler(), environment.rank == 0 ? say(net, 1) : hear(net, 0));
  });
}

TEST(Join, TheSilenceThatIsAllowedCanBeChosen) {
  if (!transport::wire::why_no_ucx().empty()) GTEST_SKIP() << transport::wire::why_no_ucx();
  int noticed[2];
  ASSERT_EQ(pipe(noticed), 0);
  on_hosts(2, 2, [&](RunEnvironment environment) {
    environment.silence = std::chrono::seconds(1);
    RunContext member(environment);
    char word = '.';
    if (environment.rank == 1) {
      member.net();  // the loop is this thread's now, which does not run it
      check(read(noticed[0], &word, 1) == 1, "the loop stands still until this is noticed");
      return;
    }
    const std::string loss = testing::error_text(
        [&] { runtime::run(member.net().scheduler(), wait_for_nothing(member.net(), 1)); });
    check_equal(loss, "rank 1 lost: nothing was heard of it for 1 s", "the loss");
    check(write(noticed[1], &word, 1) == 1, "telling it");
  });
  close(noticed[0]);
  close(noticed[1]);
}

// As with a firewall in between: the process was at the rendezvous, and then nothing arrives from it.
TEST(Join, AProcessThatIsNotHeardOfIsNamed) {
  if (!transport::wire::why_no_ucx().empty()) GTEST_SKIP() << transport::wire::why_no_ucx();
  int noticed[2];
  ASSERT_EQ(pipe(noticed), 0);
  const int port = free_port();
  launch::ForkedRanks processes(2, [&](transport::Transport& known) {
    RunEnvironment environment = standing_of(known.rank(), 2, port);
    environment.silence = std::chrono::seconds(1);
    char word = '.';
    if (known.rank() == 1) {
      close(noticed[1]);  // else nobody would notice that rank 0 has ended without a word
      const auto engine = transport::wire::make_ucx(1);
      RendezvousAddress point = parse_rendezvous_address(environment.rendezvous, "");
      point.token = environment.token;
      meet(point, 1, 2, concat(kWireVersion, "\nanother\n1 s\nucx\n", engine->card()),
           std::chrono::seconds(60));
      check(read(noticed[0], &word, 1) == 1, "being missed");
      raise(SIGKILL);
    }
    check_equal(
        testing::error_text([&] { const RunContext member(environment); }),
        "rank 1 lost: nothing was heard of it for 1 s, while joining; do both hosts let connections to "
        "any port through?",
        "the loss");
    check(write(noticed[1], &word, 1) == 1, "telling it");
  });
  EXPECT_TRUE(processes.wait()[0].good());
  close(noticed[0]);
  close(noticed[1]);
}

// It dies at any moment of the beginning: connections may exist, or half exist, and the others may learn of
// all of it at once.
TEST(Join, AProcessThatDiesAtTheBeginningIsLost) {
  if (!transport::wire::why_no_ucx().empty()) GTEST_SKIP() << transport::wire::why_no_ucx();
  for (int variant = 0; variant < 16; ++variant) {
    int alive[2];
    ASSERT_EQ(pipe(alive), 0);
    const int port = free_port();
    launch::ForkedRanks processes(2, [&](transport::Transport& known) {
      setenv("STARLING_HOST", concat("h", known.rank()).c_str(), 1);
      RunContext member(standing_of(known.rank(), 2, port));
      runtime::Scheduler& loop = member.net().scheduler();
      if (known.rank() == 1) {
        runtime::run(loop, runtime::sleep_for(std::chrono::microseconds(200 * (variant % 4))));
        raise(SIGKILL);
      }
      runtime::run(loop, runtime::sleep_for(std::chrono::microseconds(200 * (variant / 4))));
      close(alive[1]);
      char nothing = 0;
      check(read(alive[0], &nothing, 1) == 0, "waiting for the other's death");
      check_contains(testing::error_text([&] { runtime::run(loop, wait_for_nothing(member.net(), 1)); }),
                     "rank 1 lost");
    });
    close(alive[1]);
    EXPECT_TRUE(processes.wait()[0].good()) << "variant " << variant;
    close(alive[0]);
  }
}

TEST(HostIdentity, IsTheSameForProcessesOfAHostAndCanBeSet) {
  unsetenv("STARLING_HOST");
  EXPECT_EQ(host_identity(), host_identity());
  EXPECT_GT(host_identity().size(), 36U) << "a boot id and two namespaces";
  setenv("STARLING_HOST", "elsewhere", 1);
  EXPECT_EQ(host_identity(), "elsewhere");
  setenv("STARLING_HOST", "", 1);
  EXPECT_THROW(host_identity(), InvalidArgument);
  unsetenv("STARLING_HOST");
}

}  // namespace
}  // namespace starling::join
