#include "starling/cluster/cluster.h"

#include <gtest/gtest.h>

#include "tests/support/refusal.h"

namespace starling::cluster {
namespace {

using namespace std::chrono_literals;
using testing::refusal;

Cluster even(int workers, int hosts) { return even_cluster(workers, hosts, {}, {}, {}); }

TEST(Cluster, SpreadsWorkersEvenly) {
  const Cluster cluster = even(11, 4);
  ASSERT_EQ(cluster.hosts.size(), 4u);
  ASSERT_EQ(cluster.workers.size(), 11u);
  EXPECT_EQ(cluster.workers_on(0), 3);
  EXPECT_EQ(cluster.workers_on(1), 3);
  EXPECT_EQ(cluster.workers_on(2), 3);
  EXPECT_EQ(cluster.workers_on(3), 2);
  for (std::size_t i = 1; i < 11; ++i) EXPECT_LE(cluster.workers[i - 1].host, cluster.workers[i].host);
  EXPECT_EQ(cluster.hosts[3].name, "host3");
}

TEST(Cluster, ServicesHaveHostsBehindTheListedOnes) {
  const Cluster cluster = even(4, 2);
  EXPECT_EQ(cluster.host_of(0), 0);
  EXPECT_EQ(cluster.host_of(3), 1);
  EXPECT_EQ(cluster.host_of(4), 2);
  EXPECT_EQ(cluster.host_of(5), 3);
  EXPECT_EQ(cluster.workers_on(2), 0);
}

TEST(Cluster, FindsHostsByIndexAndName) {
  const Cluster cluster = even(4, 2);
  EXPECT_EQ(find_host(cluster, "1", "x"), 1);
  EXPECT_EQ(find_host(cluster, "host1", "x"), 1);
  for (const char* text : {"2", "-1", "host2", "", "1x", "99999999999"}) {
    EXPECT_EQ(refusal([&] { find_host(cluster, text, "x"); }),
              "x: there are hosts 0 to 1, named host0 to host1");
  }
}

TEST(Cluster, SlownessOfTheWholeRunIsALowerSpeed) {
  Cluster cluster = even(2, 2);
  add_fault(cluster, {.subject = 1, .factor = 4}, "x");
  EXPECT_EQ(cluster.workers[1].speed, 0.25);
  EXPECT_TRUE(cluster.faults.empty());
  add_fault(cluster, {.subject = 1, .to = Time(1s), .factor = 4}, "x");
  EXPECT_EQ(cluster.workers[1].speed, 0.25);
  EXPECT_EQ(cluster.faults.size(), 1u);
}

TEST(Cluster, NobodyDiesTwiceOrBeforeJoining) {
  Cluster cluster = even(3, 3);
  set_join(cluster, 2, Time(10s), "x");
  const auto kill = [&](int worker, Time at) {
    return refusal(
        [&] { add_fault(cluster, {.kind = Fault::Kind::kKill, .subject = worker, .from = at}, "x"); });
  };
  EXPECT_EQ(kill(2, Time(5s)), "x: worker 2 is killed at 5 s, not after it joins at 10 s");
  EXPECT_EQ(kill(0, Time{}), "x: worker 0 is killed at 0 s, not after it joins at 0 s");
  EXPECT_EQ(kill(1, Time(5s)), "accepted");
  EXPECT_EQ(kill(1, Time(6s)), "x: worker 1 is killed twice");
  EXPECT_EQ(refusal([&] { set_join(cluster, 1, Time(7s), "x"); }),
            "x: worker 1 is killed at 5 s, not after it joins at 7 s");
}

TEST(Cluster, SomebodyMustBeThereAtTheStart) {
  Cluster cluster = even(2, 2);
  set_join(cluster, 0, Time(1s), "x");
  EXPECT_EQ(refusal([&] { check_start(cluster, "x"); }), "accepted");
  set_join(cluster, 1, Time(1ns), "x");
  EXPECT_EQ(refusal([&] { check_start(cluster, "x"); }),
            "x: nobody is there at the start: every worker joins later");
}

}  // namespace
}  // namespace starling::cluster
