#include "starling/cluster/cluster_file.h"

#include <gtest/gtest.h>

#include "starling/core/text.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace starling::cluster {
namespace {

using namespace std::chrono_literals;
using testing::refusal;
using Kind = Fault::Kind;

TEST(ClusterFile, EmptyIsTheDefault) {
  const Cluster cluster = parse_cluster("", "c.toml");
  EXPECT_EQ(cluster.workers.size(), 4u);
  EXPECT_EQ(cluster.hosts.size(), 4u);
  EXPECT_EQ(cluster.hosts[0].outside, parse_link("10gbe", "x"));
  EXPECT_EQ(cluster.hosts[0].inside, parse_link("shm", "x"));
}

TEST(ClusterFile, WorkersOnTheirOwnOrSpread) {
  const Cluster alone = parse_cluster("workers = 3\nnetwork = \"40gbit/5us\"", "c.toml");
  EXPECT_EQ(alone.hosts.size(), 3u);
  EXPECT_EQ(alone.hosts[2].outside, (Link{5e9, 5us}));
  EXPECT_EQ(alone.network, (Link{5e9, 5us}));
  const Cluster spread =
      parse_cluster("workers = 5\nhosts = 2\njitter = 'normal:0.1'\njitter_span = 9", "c.toml");
  EXPECT_EQ(spread.workers_on(0), 3);
  EXPECT_EQ(spread.workers_on(1), 2);
  EXPECT_EQ(spread.workers[4].jitter, parse_jitter("normal:0.1", "x"));
  EXPECT_EQ(spread.workers[4].jitter_span, JitterSpan{9});
}

TEST(ClusterFile, HostsOverrideTheTopAndWorkersTheirHosts) {
  const Cluster cluster = parse_cluster(R"(
    network = "10gbe"
    jitter = "lognormal:0.2"
    jitter_span = "piece"
    [[host]]
    name = "a"
    workers = 2
    count = 2
    [[host]]
    workers = 1
    speed = 2
    jitter = "none"
    jitter_span = 100
    network = "1gbe"
    inside = "nvlink"
    [[worker]]
    rank = 3
    speed = 0.25
    jitter = "pareto:2.5"
    jitter_span = "step"
    joins = 10.5
  )",
                                        "c.toml");
  ASSERT_EQ(cluster.hosts.size(), 3u);
  ASSERT_EQ(cluster.workers.size(), 5u);
  EXPECT_EQ(cluster.hosts[0].name, "a0");
  EXPECT_EQ(cluster.hosts[1].name, "a1");
  EXPECT_EQ(cluster.hosts[2].name, "host2");
  EXPECT_EQ(cluster.hosts[1].outside, parse_link("10gbe", "x"));
  EXPECT_EQ(cluster.hosts[2].outside, parse_link("1gbe", "x"));
  EXPECT_EQ(cluster.hosts[2].inside, parse_link("nvlink", "x"));
  EXPECT_EQ(cluster.workers[2].host, 1);
  EXPECT_EQ(cluster.workers[2].speed, 1);
  EXPECT_EQ(cluster.workers[2].jitter, parse_jitter("lognormal:0.2", "x"));
  EXPECT_EQ(cluster.workers[3].host, 1);
  EXPECT_EQ(cluster.workers[3].speed, 0.25);
  EXPECT_EQ(cluster.workers[3].jitter, parse_jitter("pareto:2.5", "x"));
  EXPECT_EQ(cluster.workers[2].jitter_span, JitterSpan{0});
  EXPECT_EQ(cluster.workers[3].jitter_span, JitterSpan{1});
  EXPECT_EQ(cluster.workers[4].jitter_span, JitterSpan{100});
  EXPECT_EQ(cluster.workers[3].joins, Time(10500ms));
  EXPECT_EQ(cluster.workers[4].host, 2);
  EXPECT_EQ(cluster.workers[4].speed, 2);
  EXPECT_EQ(cluster.workers[4].jitter, Jitter{});
}

TEST(ClusterFile, Faults) {
  const Cluster cluster = parse_cluster(R"(
    fault = [ {kind = "slow", worker = 0, factor = 4, from = "10s", to = "20s"},
              {kind = "slow", worker = 1, factor = 4},
              {kind = "pause", worker = 1, from = "5s"},
              {kind = "link", host = "host2", factor = 3, to = 7},
              {kind = "link", host = 1, factor = 2},
              {kind = "kill", worker = 3, at = "15s"} ]
  )",
                                        "c.toml");
  ASSERT_EQ(cluster.faults.size(), 5u);
  EXPECT_EQ(cluster.workers[1].speed, 0.25);
  EXPECT_EQ(cluster.faults[0].from, Time(10s));
  EXPECT_EQ(cluster.faults[0].to, Time(20s));
  EXPECT_EQ(cluster.faults[0].factor, 4);
  EXPECT_EQ(cluster.faults[1].kind, Kind::kPause);
  EXPECT_EQ(cluster.faults[1].to, Time(kForever));
  EXPECT_EQ(cluster.faults[2].kind, Kind::kLink);
  EXPECT_EQ(cluster.faults[2].subject, 2);
  EXPECT_EQ(cluster.faults[2].to, Time(7s));
  EXPECT_EQ(cluster.faults[3].subject, 1);
  EXPECT_EQ(cluster.faults[4].kind, Kind::kKill);
  EXPECT_EQ(cluster.faults[4].from, Time(15s));
}

TEST(ClusterFile, EditorsMayLeaveTheirMarks) {
  const Cluster cluster = parse_cluster("\xef\xbb\xbfworkers = 2\r\nhosts = 1 # caf\xc3\xa9\r\n", "c.toml");
  EXPECT_EQ(cluster.workers_on(0), 2);
}

TEST(ClusterFile, LargeClustersAreReadQuickly) {
  const Cluster cluster = parse_cluster("[[host]]\nname = 'n'\nworkers = 1\ncount = 100000\n", "c.toml");
  EXPECT_EQ(cluster.workers.size(), 100000u);
  EXPECT_EQ(cluster.hosts.back().name, "n99999");
}

TEST(ClusterFile, ReadsTheExample) {
  const Cluster cluster = read_cluster(STARLING_SOURCE_DIR "/examples/clusters/mixed.toml");
  EXPECT_EQ(cluster.hosts.size(), 3u);
  EXPECT_EQ(cluster.workers.size(), 10u);
  EXPECT_EQ(cluster.faults.size(), 4u);
  EXPECT_EQ(cluster.faults[2].subject, 2);
  EXPECT_EQ(cluster.workers[9].joins, Time(30s));
}

TEST(ClusterFile, FilesThatCannotBeReadAreRefused) {
  const testing::TemporaryFolder files;
  const std::string folder = files.path();
  EXPECT_EQ(refusal([&] { read_cluster(folder); }), folder + ": a directory, not a cluster file");
  EXPECT_EQ(refusal([&] { read_cluster(folder + "/none.toml"); }),
            folder + "/none.toml: No such file or directory");
  const std::string path = files.write("a.toml", "\nspeed = 1\n");
  EXPECT_EQ(refusal([&] { read_cluster(path); }).find(path + ":2: key 'speed': there is no such key"), 0u);
}

}  // namespace
}  // namespace starling::cluster
