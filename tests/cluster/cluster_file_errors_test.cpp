#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "starling/cluster/cluster_file.h"
#include "tests/support/refusal.h"

namespace starling::cluster {
namespace {

struct Bad {
  std::string file;
  std::string text;  // behind "c.toml:"

  friend std::ostream& operator<<(std::ostream& out, const Bad& bad) { return out << bad.text; }
};

class BadClusterFile : public ::testing::TestWithParam<Bad> {};

TEST_P(BadClusterFile, IsRefusedInOneLine) {
  const std::string found = testing::refusal([] { parse_cluster(GetParam().file, "c.toml"); });
  EXPECT_EQ(found, "c.toml:" + GetParam().text);
  EXPECT_EQ(found.find('\n'), std::string::npos);
}

const std::string kTop = "; allowed: network, inside, jitter, workers, hosts, host, worker, fault";
const std::string kDuration =
    " is not a duration (a number from 0 with ns, us, ms, s, m or h; without a unit: seconds)";
const std::string kSpeed = "; allowed: a number from 1e-06 to 1e+06";
const std::string kHost = "[[host]]\nworkers = 2\n";

INSTANTIATE_TEST_SUITE_P(
    Top, BadClusterFile,
    ::testing::Values(
        Bad{"netwrok = '1gbe'",
            "1: key 'netwrok': there is no such key at the top (did you mean 'network'?)" + kTop},
        Bad{"\n\nzebra = 1\napple = 2", "3: key 'zebra': there is no such key at the top" + kTop},
        Bad{"\"a\\nb\" = 1", "1: key 'a?b': there is no such key at the top" + kTop},
        Bad{"workers = 'x'", "1: key 'workers': 'x' is a text; allowed: a whole number from 1 to 100000"},
        Bad{"workers = 0", "1: key 'workers': bad value 0; allowed: a whole number from 1 to 100000"},
        Bad{"workers = 2.5", "1: key 'workers': bad value 2.5; allowed: a whole number from 1 to 100000"},
        Bad{"workers = true",
            "1: key 'workers': bad value: true or false; allowed: a whole number from 1 to 100000"},
        Bad{"workers = [1]", "1: key 'workers': bad value: a list; allowed: a whole number from 1 to 100000"},
        Bad{"workers = 2024-01-01",
            "1: key 'workers': bad value: a date or time; allowed: a whole number from 1 to 100000"},
        Bad{"workers = 4\nhosts = 5", "2: key 'hosts': bad value 5; allowed: a whole number from 1 to 4"},
        Bad{"workers = 4\n" + kHost, "1: key 'workers': not together with [[host]]"},
        Bad{"hosts = 4\n" + kHost, "1: key 'hosts': not together with [[host]]"},
        Bad{"network = 10", "1: key 'network': bad value 10; allowed: a text in quotes"},
        Bad{"network = '1gbit/x'", "1: key 'network': 'x'" + kDuration},
        Bad{"inside = 'slow'",
            "1: key 'inside': 'slow' is not a network; allowed: 1gbe, 10gbe, 25gbe, 100gib, nvlink, shm or "
            "BANDWIDTH/LATENCY such as 40gbit/5us"},
        Bad{"network = 'x\xc3\xa9x/1us'",
            "1: key 'network': 'x??x' is not a bandwidth (1 to 1e15 bytes a second; units: gbit, mbit, "
            "gbyte, "
            "mbyte)"},
        Bad{"jitter = 'pareto:1'",
            "1: key 'jitter': 'pareto:1' is not a jitter; allowed: none, normal:SIGMA and lognormal:SIGMA (0 "
            "to 10), "
            "exponential, pareto:SHAPE (above 1, to 1000), bernoulli:PROBABILITY:FACTOR (0 to 1; 1e-6 to "
            "1e6)"},
        Bad{"[host]\nworkers = 1",
            "1: key 'host': bad value: a table; allowed: tables that start with [[host]]"},
        Bad{"host = []", "1: key 'host': bad value: a list; allowed: tables that start with [[host]]"}));

INSTANTIATE_TEST_SUITE_P(
    Hosts, BadClusterFile,
    ::testing::Values(
        Bad{"\n[[host]]\nname = 'a'", "2: key 'workers': missing in [[host]]"},
        Bad{kHost + "sped = 1",
            "3: key 'sped': there is no such key in [[host]] (did you mean 'speed'?); allowed: name, "
            "workers, "
            "count, "
            "speed, jitter, network, inside"},
        Bad{kHost + "speed = 0", "3: key 'speed': bad value 0" + kSpeed},
        Bad{kHost + "speed = -1.5", "3: key 'speed': bad value -1.5" + kSpeed},
        Bad{kHost + "speed = inf", "3: key 'speed': bad value inf" + kSpeed},
        Bad{kHost + "speed = nan", "3: key 'speed': bad value nan" + kSpeed},
        Bad{kHost + "count = 0", "3: key 'count': bad value 0; allowed: a whole number from 1 to 100000"},
        Bad{kHost + "count = 50001", "2: key 'workers': more than 100000 workers in all"},
        Bad{kHost + "name = '1a'",
            "3: key 'name': '1a' is not a name; allowed: a letter, then letters, digits, '_', '.' and '-'"},
        Bad{kHost + "name = ''",
            "3: key 'name': '' is not a name; allowed: a letter, then letters, digits, '_', '.' and '-'"},
        Bad{kHost + "name = 'a'\n" + kHost + "name = 'a'", "6: key 'name': two hosts are named 'a'"},
        Bad{kHost + "name = 'host1'\n" + kHost, "4: key 'name': two hosts are named 'host1'"}));

INSTANTIATE_TEST_SUITE_P(
    Workers, BadClusterFile,
    ::testing::Values(
        Bad{"[[worker]]\nspeed = 1", "1: key 'rank': missing in [[worker]]"},
        Bad{"[[worker]]\nrank = 4", "2: key 'rank': bad value 4; allowed: a whole number from 0 to 3"},
        Bad{"[[worker]]\nrank = 1\n[[worker]]\nrank = 1",
            "4: key 'rank': there are two [[worker]] of rank 1"},
        Bad{"[[worker]]\nrank = 1\njoins = 'soon'", "3: key 'joins': 'soon'" + kDuration},
        Bad{"[[worker]]\nrank = 1\njoins = -1",
            "3: key 'joins': bad value -1; allowed: a duration such as '10ms', or a number of seconds"},
        Bad{"[[worker]]\nrank = 1\njoins = [1]",
            "3: key 'joins': bad value: a list; allowed: a duration such as '10ms', or a number of seconds"},
        Bad{"workers = 1\n[[worker]]\nrank = 0\njoins = 1",
            " nobody is there at the start: every worker joins later"}));

std::string fault(const std::string& rest) { return "[[fault]]\nkind = " + rest; }

INSTANTIATE_TEST_SUITE_P(
    Faults, BadClusterFile,
    ::testing::Values(
        Bad{"[[fault]]\nworker = 1", "1: key 'kind': missing in [[fault]]"},
        Bad{fault("'slwo'"), "2: key 'kind': unknown 'slwo'; allowed: slow, pause, link, kill"},
        Bad{fault("'slow'\nworker = 4\nfactor = 2"),
            "3: key 'worker': bad value 4; allowed: a whole number from 0 to 3"},
        Bad{fault("'slow'\nworker = 0"), "1: key 'factor': missing in a [[fault]] of kind slow"},
        Bad{fault("'slow'\nworker = 0\nfactor = 0"), "4: key 'factor': bad value 0" + kSpeed},
        Bad{fault("'slow'\nworker = 0\nfactor = 2\nfrom = '20s'\nto = '10s'"),
            "6: key 'to': the end, 10 s, is not after the start, 20 s"},
        Bad{fault("'slow'\nhost = 0\nfactor = 2"),
            "3: key 'host': there is no such key in a [[fault]] of kind slow; allowed: kind, worker, factor, "
            "from, to"},
        Bad{fault("'pause'\nworker = 0"), "1: key 'from': missing in a [[fault]] of kind pause"},
        Bad{fault("'link'\nfactor = 2"), "1: key 'host': missing in a [[fault]] of kind link"},
        Bad{fault("'link'\nhost = 9\nfactor = 2"),
            "3: key 'host': '9': there are hosts 0 to 3, named host0 to host3"},
        Bad{fault("'link'\nhost = 'x'\nfactor = 2"),
            "3: key 'host': 'x': there are hosts 0 to 3, named host0 to host3"},
        Bad{fault("'link'\nhost = 1.5\nfactor = 2"),
            "3: key 'host': bad value 1.5; allowed: a whole number or a text in quotes"},
        Bad{fault("'kill'\nworker = 0"), "1: key 'at': missing in a [[fault]] of kind kill"},
        Bad{fault("'kill'\nworker = 0\nfrom = 1"),
            "4: key 'from': there is no such key in a [[fault]] of kind kill; allowed: kind, worker, at"},
        Bad{"[[worker]]\nrank = 1\njoins = '1m'\n" + fault("'kill'\nworker = 1\nat = '5s'"),
            "7: key 'at': worker 1 is killed at 5 s, not after it joins at 60 s"}));

// The rest of the line is toml++'s.
TEST(ClusterFileErrors, BrokenTomlIsRefusedWithItsLine) {
  const Bad files[] = {{"\nworkers = ", "2"},      {"workers = 1\nworkers = 2", "2"},
                       {"a = \"x\ny\"", "1"},      {"[[host]\n", "1"},
                       {"[[[host]]]", "1"},        {"\n[[=", "2"},
                       {"jitter = \xc3\xa9", "1"}, {"\xff\xfe", "1"}};
  for (const Bad& bad : files) {
    const std::string found = testing::refusal([&] { parse_cluster(bad.file, "c.toml"); });
    EXPECT_EQ(found.find("c.toml:" + bad.text + ": not TOML: "), 0u) << found;
    EXPECT_EQ(found.find('\n'), std::string::npos) << found;
  }
}

}  // namespace
}  // namespace starling::cluster
