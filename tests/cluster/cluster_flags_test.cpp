#include "starling/cluster/cluster_flags.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "starling/core/text.h"
#include "tests/support/refusal.h"
#include "tests/support/temporary_folder.h"

namespace starling::cluster {
namespace {

using namespace std::chrono_literals;
using testing::refusal;
using Kind = Fault::Kind;

TEST(ClusterFlags, NothingIsFourWorkers) {
  const Cluster cluster = make_cluster({});
  EXPECT_EQ(cluster.workers.size(), 4u);
  EXPECT_EQ(cluster.hosts.size(), 4u);
  EXPECT_EQ(cluster.hosts[3].outside, parse_link("10gbe", "x"));
  EXPECT_EQ(cluster.hosts[3].inside, parse_link("shm", "x"));
  EXPECT_EQ(cluster.network, parse_link("10gbe", "x"));
  EXPECT_EQ(cluster.workers[3].jitter, Jitter{});
  EXPECT_EQ(cluster.workers[3].host, 3);
  EXPECT_TRUE(cluster.faults.empty());
}

TEST(ClusterFlags, SetTheWholeCluster) {
  const Cluster cluster = make_cluster(
      {.workers = "16", .hosts = "4", .network = "1gbe", .inside = "nvlink", .jitter = "exponential"});
  EXPECT_EQ(cluster.workers.size(), 16u);
  EXPECT_EQ(cluster.hosts.size(), 4u);
  EXPECT_EQ(cluster.workers_on(3), 4);
  EXPECT_EQ(cluster.hosts[3].outside, parse_link("1gbe", "x"));
  EXPECT_EQ(cluster.hosts[3].inside, parse_link("nvlink", "x"));
  EXPECT_EQ(cluster.network, parse_link("1gbe", "x"));
  EXPECT_EQ(cluster.workers[15].jitter.kind, Jitter::Kind::kExponential);
  EXPECT_EQ(cluster.workers[15].jitter_span, JitterSpan{1});
}

TEST(ClusterFlags, SayHowLongAFactorOfTheJitterLasts) {
  EXPECT_EQ(make_cluster({.jitter = "exponential", .jitter_span = "piece"}).workers[3].jitter_span,
            JitterSpan{0});
  EXPECT_EQ(make_cluster({.jitter = "none", .jitter_span = "7"}).workers[0].jitter_span, JitterSpan{7});
  const testing::TemporaryFolder files;
  const std::string path =
      files.write("a.toml", "jitter_span = 3\n[[worker]]\nrank = 1\njitter = 'exponential'\n");
  EXPECT_EQ(make_cluster({.file = path}).workers[1].jitter_span, JitterSpan{3});
  EXPECT_EQ(make_cluster({.file = path, .jitter_span = "step"}).workers[1].jitter_span, JitterSpan{1});
  EXPECT_EQ(refusal([] { make_cluster({.jitter_span = "piece"}); }),
            "--jitter-span: 'piece': no worker has a jitter; allowed with --jitter");
}

void expect_fault(const Fault& fault, Kind kind, int subject, Duration from, Duration to, double factor) {
  EXPECT_EQ(fault.kind, kind);
  EXPECT_EQ(fault.subject, subject);
  EXPECT_EQ(fault.from, Time(from));
  EXPECT_EQ(fault.to, Time(to));
  EXPECT_EQ(fault.factor, factor);
}

TEST(ClusterFlags, AddFaults) {
  const Cluster cluster = make_cluster({.slow = {"0:4", "1:2.5@10s-20s", "1:2@1e-3-2e-3"},
                                        .pause = {"3@5s-8s", "2@1m"},
                                        .link = {"1:10@5s-8s", "host2:3"},
                                        .kill = {"2@15s"},
                                        .join = {"3@10ms"}});
  EXPECT_EQ(cluster.workers[0].speed, 0.25);
  EXPECT_EQ(cluster.workers[1].speed, 1);
  EXPECT_EQ(cluster.workers[3].joins, Time(10ms));
  ASSERT_EQ(cluster.faults.size(), 7u);
  expect_fault(cluster.faults[0], Kind::kSlow, 1, 10s, 20s, 2.5);
  expect_fault(cluster.faults[1], Kind::kSlow, 1, 1ms, 2ms, 2);
  expect_fault(cluster.faults[2], Kind::kPause, 3, 5s, 8s, 1);
  expect_fault(cluster.faults[3], Kind::kPause, 2, 60s, kForever, 1);
  expect_fault(cluster.faults[4], Kind::kLink, 1, 5s, 8s, 10);
  expect_fault(cluster.faults[5], Kind::kLink, 2, 0s, kForever, 3);
  expect_fault(cluster.faults[6], Kind::kKill, 2, 15s, kForever, 1);
}

TEST(ClusterFlags, GoOnTopOfAFile) {
  const testing::TemporaryFolder files;
  const std::string path = files.write("a.toml",
                                       "[[host]]\nworkers = 2\nname = 'a'\nnetwork = '1gbe'\nspeed = 0.5\n"
                                       "[[fault]]\nkind = 'kill'\nworker = 1\nat = 9\n");
  const Cluster cluster = make_cluster({.file = path, .network = "25gbe", .slow = {"0:2"}, .link = {"a:2"}});
  EXPECT_EQ(cluster.hosts[0].outside, parse_link("25gbe", "x"));
  EXPECT_EQ(cluster.workers[0].speed, 0.25);
  EXPECT_EQ(cluster.workers[1].speed, 0.5);
  EXPECT_EQ(cluster.faults.size(), 2u);

  EXPECT_EQ(
      refusal([&] { make_cluster({.file = path, .workers = "4"}); }),
      concat("--workers: '4': the cluster file '", path, "' already says which workers and hosts there are"));
  EXPECT_EQ(
      refusal([&] { make_cluster({.file = path, .hosts = "4"}); }),
      concat("--hosts: '4': the cluster file '", path, "' already says which workers and hosts there are"));
  EXPECT_EQ(refusal([&] { make_cluster({.file = path, .kill = {"1@5s"}}); }),
            "--kill: '1@5s': worker 1 is killed twice");
  EXPECT_EQ(refusal([&] { make_cluster({.file = path, .join = {"1@10s"}}); }),
            "--join: '1@10s': worker 1 is killed at 9 s, not after it joins at 10 s");
}

struct BadFlag {
  ClusterFlags flags;
  std::string text;

  friend std::ostream& operator<<(std::ostream& out, const BadFlag& bad) { return out << bad.text; }
};

class BadFlags : public ::testing::TestWithParam<BadFlag> {};

TEST_P(BadFlags, AreRefused) {
  EXPECT_EQ(refusal([] { make_cluster(GetParam().flags); }), GetParam().text);
}

const std::string kNotADuration =
    " is not a duration (a number from 0 with ns, us, ms, s, m or h; without a unit: seconds)";
const std::string kSlowForm = " is not WORKER:FACTOR, WORKER:FACTOR@FROM or WORKER:FACTOR@FROM-TO";
const std::string kLinkForm = " is not HOST:FACTOR, HOST:FACTOR@FROM or HOST:FACTOR@FROM-TO";
const std::string kPauseForm = " is not WORKER@FROM or WORKER@FROM-TO";

INSTANTIATE_TEST_SUITE_P(
    All, BadFlags,
    ::testing::Values(
        BadFlag{{.workers = "0"}, "--workers: '0' is not a whole number from 1 to 100000"},
        BadFlag{{.workers = "100001"}, "--workers: '100001' is not a whole number from 1 to 100000"},
        BadFlag{{.workers = "many"}, "--workers: 'many' is not a whole number from 1 to 100000"},
        BadFlag{{.workers = "8", .hosts = "9"}, "--hosts: '9' is not a whole number from 1 to 8"},
        BadFlag{{.network = "1gbit/-5us"}, "--network: '-5us'" + kNotADuration},
        BadFlag{{.jitter = "exponential", .jitter_span = "0"},
                "--jitter-span: '0'; allowed: piece, step, a number of steps from 1 to 1000000000"},
        BadFlag{{.workers = "16", .slow = {"99:4"}}, "--slow: '99:4': there are workers 0 to 15"},
        BadFlag{{.slow = {"-1:4"}}, "--slow: '-1:4': there are workers 0 to 3"},
        BadFlag{{.slow = {"x:4"}}, "--slow: 'x:4': there are workers 0 to 3"},
        BadFlag{{.slow = {"0"}}, "--slow: '0'" + kSlowForm},
        BadFlag{{.slow = {""}}, "--slow: ''" + kSlowForm},
        BadFlag{{.slow = {"0@5s"}}, "--slow: '0@5s'" + kSlowForm},
        BadFlag{{.slow = {"0:0"}}, "--slow: '0:0': '0' is not a number from 1e-06 to 1e+06"},
        BadFlag{{.slow = {"0:inf"}}, "--slow: '0:inf': 'inf' is not a number from 1e-06 to 1e+06"},
        BadFlag{{.slow = {"0:2:3"}}, "--slow: '0:2:3': '2:3' is not a number from 1e-06 to 1e+06"},
        BadFlag{{.slow = {"0:2@1s-"}}, "--slow: '0:2@1s-': ''" + kNotADuration},
        BadFlag{{.slow = {"0:2@1x-2s"}}, "--slow: '0:2@1x-2s': '1x'" + kNotADuration},
        BadFlag{{.slow = {"0:2@-1s"}}, "--slow: '0:2@-1s': ''" + kNotADuration},
        BadFlag{{.slow = {"0:2@5s-5s"}}, "--slow: '0:2@5s-5s': the end, 5 s, is not after the start, 5 s"},
        BadFlag{{.pause = {"3"}}, "--pause: '3'" + kPauseForm},
        BadFlag{{.pause = {"3:2@5s"}}, "--pause: '3:2@5s'" + kPauseForm},
        BadFlag{{.pause = {"3@8s-5s"}}, "--pause: '3@8s-5s': the end, 5 s, is not after the start, 8 s"},
        BadFlag{{.link = {"4:2"}}, "--link-slow: '4:2': there are hosts 0 to 3, named host0 to host3"},
        BadFlag{{.link = {"1"}}, "--link-slow: '1'" + kLinkForm},
        BadFlag{{.kill = {"2"}}, "--kill: '2' is not WORKER@AT"},
        BadFlag{{.kill = {"2@15s-20s"}}, "--kill: '2@15s-20s': '15s-20s'" + kNotADuration},
        BadFlag{{.kill = {"4@15s"}}, "--kill: '4@15s': there are workers 0 to 3"},
        BadFlag{{.kill = {"2@100y"}}, "--kill: '2@100y': '100y'" + kNotADuration},
        BadFlag{{.kill = {"2@1e99h"}}, "--kill: '2@1e99h': '1e99h' is too long for a duration (73 years)"},
        BadFlag{{.stop = {"2"}}, "--stop: '2'" + kPauseForm},
        BadFlag{{.stop = {"4@1s"}}, "--stop: '4@1s': there are workers 0 to 3"},
        BadFlag{{.cut = {"1:2@1s"}}, "--cut: '1:2@1s' is not HOST@FROM or HOST@FROM-TO"},
        BadFlag{{.cut = {"4@1s"}}, "--cut: '4@1s': there are hosts 0 to 3, named host0 to host3"},
        BadFlag{{.join = {"3"}}, "--join: '3' is not WORKER@AT"},
        BadFlag{{.join = {"7@1s"}}, "--join: '7@1s': there are workers 0 to 3"},
        BadFlag{{.kill = {"1@1s"}, .join = {"1@2s"}},
                "--kill: '1@1s': worker 1 is killed at 1 s, not after it joins at 2 s"},
        BadFlag{{.workers = "1", .join = {"0@1s"}},
                "--join: nobody is there at the start: every worker joins later"}));

TEST(ClusterFlags, ListsAreTheSameAsSeveralFlags) {
  ClusterFlags list, several;
  list.slow = {"0:4,1:2"};
  several.slow = {"0:4", "1:2"};
  list.kill = {"2@1s,3@2s"};
  several.kill = {"2@1s", "3@2s"};
  const Cluster a = make_cluster(list), b = make_cluster(several);
  for (std::size_t i = 0; i < a.workers.size(); ++i) EXPECT_EQ(a.workers[i].speed, b.workers[i].speed);
  ASSERT_EQ(a.faults.size(), 2U);
  EXPECT_EQ(a.faults[1].subject, 3);
  list.slow = {"0:4,"};
  EXPECT_THROW(make_cluster(list), InvalidArgument);
}

TEST(ClusterFlags, FormsAreCheckedWithoutACluster) {
  EXPECT_NO_THROW(check_form("--slow", "999:4@1s-2s,0:2"));
  EXPECT_NO_THROW(check_form("--join", "3@1s"));
  EXPECT_NO_THROW(check_form("--link-slow", "rack:4"));
  for (const auto& [flag, text] :
       {std::pair("--slow", "0"), std::pair("--slow", ""), std::pair("--pause", "1"),
        std::pair("--kill", "0"), std::pair("--join", "3:2@1s")})
    EXPECT_THROW(check_form(flag, text), InvalidArgument) << flag << " " << text;
}

}  // namespace
}  // namespace starling::cluster
