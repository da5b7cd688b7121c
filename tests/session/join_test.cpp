// Processes that count as those of several hosts find each other and train together.
#include "starling/session/join.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/session/forked_ranks.h"
#include "starling/session/host_identity.h"
#include "starling/session/membership.h"
#include "starling/session/rendezvous.h"
#include "starling/transport/wire/ucx.h"
#include "tests/session/joined.h"
#include "tests/support/check.h"
#include "tests/support/refusal.h"

namespace starling::session {
namespace {

using testing::check;
using testing::check_contains;
using testing::check_equal;
using testing::check_sum;
using testing::free_port;

Standing standing_of(int rank, int ranks, int port) {
  Standing standing;
  standing.rank = rank;
  standing.ranks = standing.workers = ranks;
  standing.rendezvous = concat("127.0.0.1:", port);
  standing.token = concat("a secret of this test, ", port);  // memory is found by it, others run beside us
  return standing;
}

// The bodies of `ranks` processes, which are on hosts "h0", "h1", ... in turn.
void on_hosts(int ranks, int hosts, const std::function<void(Standing)>& body) {
  const int port = free_port();
  ForkedRanks processes(ranks, [&](transport::Transport& known) {
    setenv("STARLING_HOST", concat("h", known.rank() % hosts).c_str(), 1);
    body(standing_of(known.rank(), ranks, port));
  });
  for (const Outcome& outcome : processes.wait()) EXPECT_TRUE(outcome.good()) << outcome.error;
}

TEST(Join, ProcessesOfSeveralHosts) {
  if (!transport::wire::why_no_ucx().empty()) GTEST_SKIP() << transport::wire::why_no_ucx();
  on_hosts(4, 2, [](Standing standing) {
    Membership member(std::move(standing));
    check_equal(std::string(member.net().name()), "shm+ucx", "the transport");
    check(member.standing().host_of_rank == std::vector<int>{0, 1, 0, 1}, "who is where");
    check_sum(member.net());
  });
  on_hosts(3, 3, [](Standing standing) {
    Membership member(std::move(standing));
    check_equal(std::string(member.net().name()), "ucx", "the transport");
    check_sum(member.net());
  });
}

TEST(Join, ProcessesOfOneHostNeedNoNetwork) {
  for (const char* transport : {"auto", "shm"}) {
    on_hosts(3, 1, [&](Standing standing) {
      standing.transport = transport;
      Membership member(std::move(standing));
      check_equal(std::string(member.net().name()), "shm", "the transport");
      check_sum(member.net());
    });
  }
}

TEST(Join, WithoutANetworkOtherHostsAreOutOfReach) {
  on_hosts(2, 2, [](Standing standing) {
    standing.transport = "shm";
    const std::string refusal = testing::error_text([&] { const Membership member(standing); });
    check_contains(refusal,
                   concat("rank ", 1 - standing.rank, " is on another host than rank ", standing.rank));
    check_contains(refusal, "STARLING_TRANSPORT is shm");
  });
}

// Who allows less silence than others keep would lose them without a reason.
TEST(Join, AllMustAllowTheSameSilence) {
  if (!transport::wire::why_no_ucx().empty()) GTEST_SKIP() << transport::wire::why_no_ucx();
  on_hosts(2, 2, [](Standing standing) {
    const Rank other = 1 - standing.rank;
    if (standing.rank == 1) standing.silence = std::chrono::seconds(2);
    const std::string refusal = testing::error_text([&] { const Membership member(standing); });
    const auto silence = [](Rank rank) { return rank == 1 ? "2 s" : "5 s"; };
    check_equal(refusal,
                concat("rank ", standing.rank, " allows the others ", silence(standing.rank),
                       " of silence, rank ", other, " ", silence(other), "; set STARLING_SILENCE alike"),
                "the refusal");
  });
}

runtime::Task<> wait_for_nothing(transport::Transport& net, Rank from) { co_await net.recv(from, 1, {}); }

TEST(Join, TheSilenceThatIsAllowedCanBeChosen) {
  if (!transport::wire::why_no_ucx().empty()) GTEST_SKIP() << transport::wire::why_no_ucx();
  int noticed[2];
  ASSERT_EQ(pipe(noticed), 0);
  on_hosts(2, 2, [&](Standing standing) {
    standing.silence = std::chrono::seconds(1);
    Membership member(standing);
    char word = '.';
    if (standing.rank == 1) {
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

// As one that a firewall keeps out: it was at the rendezvous, and then nothing comes.
TEST(Join, AProcessThatIsNotHeardOfIsNamed) {
  if (!transport::wire::why_no_ucx().empty()) GTEST_SKIP() << transport::wire::why_no_ucx();
  int noticed[2];
  ASSERT_EQ(pipe(noticed), 0);
  const int port = free_port();
  ForkedRanks processes(2, [&](transport::Transport& known) {
    Standing standing = standing_of(known.rank(), 2, port);
    standing.silence = std::chrono::seconds(1);
    char word = '.';
    if (known.rank() == 1) {
      const auto engine = transport::wire::make_ucx(1);
      MeetingPoint point = parse_meeting_point(standing.rendezvous, "");
      point.token = standing.token;
      meet(point, 1, 2, concat("another\n1 s\nucx\n", engine->card()), std::chrono::seconds(60));
      check(read(noticed[0], &word, 1) == 1, "being missed");
      raise(SIGKILL);
    }
    check_equal(
        testing::error_text([&] { const Membership member(standing); }),
        "rank 1 lost: nothing was heard of it for 1 s, while joining; do both hosts let connections to "
        "any port through?",
        "the loss");
    check(write(noticed[1], &word, 1) == 1, "telling it");
  });
  EXPECT_TRUE(processes.wait()[0].good());
  close(noticed[0]);
  close(noticed[1]);
}

// At any moment of the beginning: connections may be there, or half there, when it dies, and whoever is left
// may hear of all of it at once.
TEST(Join, AProcessThatDiesAtTheBeginningIsLost) {
  if (!transport::wire::why_no_ucx().empty()) GTEST_SKIP() << transport::wire::why_no_ucx();
  for (int variant = 0; variant < 16; ++variant) {
    int alive[2];
    ASSERT_EQ(pipe(alive), 0);
    const int port = free_port();
    ForkedRanks processes(2, [&](transport::Transport& known) {
      setenv("STARLING_HOST", concat("h", known.rank()).c_str(), 1);
      Membership member(standing_of(known.rank(), 2, port));
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
}  // namespace starling::session
