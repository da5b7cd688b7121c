#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "starling/cluster/cluster_file.h"
#include "tests/support/refusal.h"

namespace starling::cluster {
namespace {

struct BadFile {
  std::string file;
  std::string text;  // behind "c.toml:"

  friend std::ostream& operator<<(std::ostream& out, const BadFile& bad) { return out << bad.text; }
};

class BadClusterFile : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadClusterFile, IsRefusedInOneLine) {
  const std::string found = testing::refusal([] { parse_cluster(GetParam().file, "c.toml"); });
  EXPECT_EQ(found, "c.toml:" + GetParam().text);
  EXPECT_EQ(found.find('\n'), std::string::npos);
}

const std::string kTop =
    "; allowed: network, inside, jitter, jitter_span, workers, hosts, host, worker, "
    "fault";
const std::string kDurationAllowed =
    " is not a duration (a number from 0 with ns, us, ms, s, m or h; without a unit: seconds)";
const std::string kSpeed = "; allowed: a number from 1e-06 to 1e+06";
const std::string kHost = "[[host]]\nworkers = 2\n";

INSTANTIATE_TEST_SUITE_P(
    Top, BadClusterFile,
    ::testing::Values(
        BadFile{"netwrok = '1gbe'",
                "1: key 'netwrok': there is no such key at the top (did you mean 'network'?)" + kTop},
        BadFile{"\n\nzebra = 1\napple = 2", "3: key 'zebra': there is no such key at the top" + kTop},
        BadFile{"\"a\\nb\" = 1", "1: key 'a?b': there is no such key at the top" + kTop},
        BadFile{"workers = 'x'", "1: key 'workers': 'x' is a text; allowed: a whole number from 1 to 100000"},
        BadFile{"workers = 0", "1: key 'workers': bad value 0; allowed: a whole number from 1 to 100000"},
        BadFile{"workers = 2.5", "1: key 'workers': bad value 2.5; allowed: a whole number from 1 to 100000"},
        BadFile{"workers = true",
                "1: key 'workers': bad value: true or false; allowed: a whole number from 1 to 100000"},
        BadFile{"workers = [1]",
                "1: key 'workers': bad value: a list; allowed: a whole number from 1 to 100000"},
        BadFile{"workers = 2024-01-01",
                "1: key 'workers': bad value: a date or time; allowed: a whole number from 1 to 100000"},
        BadFile{"workers = 4\nhosts = 5", "2: key 'hosts': bad value 5; allowed: a whole number from 1 to 4"},
        BadFile{"workers = 4\n" + kHost, "1: key 'workers': not together with [[host]]"},
        BadFile{"hosts = 4\n" + kHost, "1: key 'hosts': not together with [[host]]"},
        BadFile{"network = 10", "1: key 'network': bad value 10; allowed: a text in quotes"},
        BadFile{"network = '1gbit/x'", "1: key 'network': 'x'" + kDurationAllowed},
        BadFile{
            "inside = 'slow'",
            "1: key 'inside': 'slow' is not a network; allowed: 1gbe, 10gbe, 25gbe, 100gib, nvlink, shm or "
            "BANDWIDTH/LATENCY such as 40gbit/5us"},
        BadFile{"network = 'x\xc3\xa9x/1us'",
                "1: key 'network': 'x??x' is not a bandwidth (1 to 1e15 bytes a second; units: gbit, mbit, "
                "gbyte, "
                "mbyte)"},
        BadFile{
            "jitter = 'pareto:1'",
            "1: key 'jitter': 'pareto:1' is not a jitter; allowed: none, normal:SIGMA and lognormal:SIGMA (0 "
            "to 10), "
            "exponential, pareto:SHAPE (above 1, to 1000), bernoulli:PROBABILITY:FACTOR (0 to 1; 1e-6 to "
            "1e6)"},
        BadFile{"[host]\nworkers = 1",
                "1: key 'host': bad value: a table; allowed: tables that start with [[host]]"},
        BadFile{"host = []", "1: key 'host': bad value: a list; allowed: tables that start with [[host]]"}));

INSTANTIATE_TEST_SUITE_P(
    Hosts, BadClusterFile,
    ::testing::Values(
        BadFile{"\n[[host]]\nname = 'a'", "2: key 'workers': missing in [[host]]"},
        BadFile{kHost + "sped = 1",
                "3: key 'sped': there is no such key in [[host]] (did you mean 'speed'?); allowed: name, "
                "workers, "
                "count, "
                "speed, jitter, jitter_span, network, inside"},
        BadFile{kHost + "speed = 0", "3: key 'speed': bad value 0" + kSpeed},
        BadFile{kHost + "speed = -1.5", "3: key 'speed': bad value -1.5" + kSpeed},
        BadFile{kHost + "speed = inf", "3: key 'speed': bad value inf" + kSpeed},
        BadFile{kHost + "speed = nan", "3: key 'speed': bad value nan" + kSpeed},
        BadFile{kHost + "count = 0", "3: key 'count': bad value 0; allowed: a whole number from 1 to 100000"},
        BadFile{kHost + "count = 50001", "2: key 'workers': more than 100000 workers in all"},
        BadFile{
            kHost + "name = '1a'",
            "3: key 'name': '1a' is not a name; allowed: a letter, then letters, digits, '_', '.' and '-'"},
        BadFile{kHost + "name = ''",
                "3: key 'name': '' is not a name; allowed: a letter, then letters, digits, '_', '.' and '-'"},
        BadFile{kHost + "name = 'a'\n" + kHost + "name = 'a'", "6: key 'name': two hosts are named 'a'"},
        BadFile{kHost + "name = 'host1'\n" + kHost, "4: key 'name': two hosts are named 'host1'"}));

INSTANTIATE_TEST_SUITE_P(
    Workers, BadClusterFile,
    ::testing::Values(
        BadFile{"[[worker]]\nspeed = 1", "1: key 'rank': missing in [[worker]]"},
        BadFile{"[[worker]]\nrank = 4", "2: key 'rank': bad value 4; allowed: a whole number from 0 to 3"},
        BadFile{"[[worker]]\nrank = 1\n[[worker]]\nrank = 1",
                "4: key 'rank': there are two [[worker]] of rank 1"},
        BadFile{"[[worker]]\nrank = 1\njoins = 'soon'", "3: key 'joins': 'soon'" + kDurationAllowed},
        BadFile{"[[worker]]\nrank = 1\njoins = -1",
                "3: key 'joins': bad value -1; allowed: a duration such as '10ms', or a number of seconds"},
        BadFile{
            "[[worker]]\nrank = 1\njoins = [1]",
            "3: key 'joins': bad value: a list; allowed: a duration such as '10ms', or a number of seconds"},
        BadFile{"workers = 1\n[[worker]]\nrank = 0\njoins = 1",
                " nobody is there at the start: every worker joins later"}));

std::string fault(const std::string& rest) { return "[[fault]]\nkind = " + rest; }

INSTANTIATE_TEST_SUITE_P(
    Faults, BadClusterFile,
    ::testing::Values(
        BadFile{"[[fault]]\nworker = 1", "1: key 'kind': missing in [[fault]]"},
        BadFile{fault("'slwo'"),
                "2: key 'kind': unknown 'slwo'; allowed: slow, pause, link, kill, stop, cut"},
        BadFile{fault("'slow'\nworker = 4\nfactor = 2"),
                "3: key 'worker': bad value 4; allowed: a whole number from 0 to 3"},
        BadFile{fault("'slow'\nworker = 0"), "1: key 'factor': missing in a [[fault]] of kind slow"},
        BadFile{fault("'slow'\nworker = 0\nfactor = 0"), "4: key 'factor': bad value 0" + kSpeed},
        BadFile{fault("'slow'\nworker = 0\nfactor = 2\nfrom = '20s'\nto = '10s'"),
                "6: key 'to': the end, 10 s, is not after the start, 20 s"},
        BadFile{
            fault("'slow'\nhost = 0\nfactor = 2"),
            "3: key 'host': there is no such key in a [[fault]] of kind slow; allowed: kind, worker, factor, "
            "from, to"},
        BadFile{fault("'pause'\nworker = 0"), "1: key 'from': missing in a [[fault]] of kind pause"},
        BadFile{fault("'link'\nfactor = 2"), "1: key 'host': missing in a [[fault]] of kind link"},
        BadFile{fault("'link'\nhost = 9\nfactor = 2"),
                "3: key 'host': '9': there are hosts 0 to 3, named host0 to host3"},
        BadFile{fault("'link'\nhost = 'x'\nfactor = 2"),
                "3: key 'host': 'x': there are hosts 0 to 3, named host0 to host3"},
        BadFile{fault("'link'\nhost = 1.5\nfactor = 2"),
                "3: key 'host': bad value 1.5; allowed: a whole number or a text in quotes"},
        BadFile{fault("'kill'\nworker = 0"), "1: key 'at': missing in a [[fault]] of kind kill"},
        BadFile{fault("'kill'\nworker = 0\nfrom = 1"),
                "4: key 'from': there is no such key in a [[fault]] of kind kill; allowed: kind, worker, at"},
        BadFile{"[[worker]]\nrank = 1\njoins = '1m'\n" + fault("'kill'\nworker = 1\nat = '5s'"),
                "7: key 'at': worker 1 is killed at 5 s, not after it joins at 60 s"}));

// The rest of the line is toml++'s.
TEST(ClusterFileErrors, BrokenTomlIsRefusedWithItsLine) {
  const BadFile files[] = {{"\nworkers = ", "2"},      {"workers = 1\nworkers = 2", "2"},
                           {"a = \"x\ny\"", "1"},      {"[[host]\n", "1"},
                           {"[[[host]]]", "1"},        {"\n[[=", "2"},
                           {"jitter = \xc3\xa9", "1"}, {"\xff\xfe", "1"}};
  for (const BadFile& bad : files) {
    const std::string found = testing::refusal([&] { parse_cluster(bad.file, "c.toml"); });
    EXPECT_EQ(found.find("c.toml:" + bad.text + ": not TOML: "), 0u) << found;
    EXPECT_EQ(found.find('\n'), std::string::npos) << found;
  }
}

}  // namespace
}  // namespace starling::cluster
