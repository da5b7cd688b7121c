// Processes that count as those of several hosts find each other and train together.
#include "starling/session/join.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "starling/core/error.h"
#include "starling/session/forked_ranks.h"
#include "starling/session/host_identity.h"
#include "starling/session/membership.h"
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
  standing.token = "a secret of this test";
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
