#include "starling/launch/host_list.h"

#include <gtest/gtest.h>

#include "starling/core/text.h"
#include "tests/support/refusal.h"

namespace starling::launch {
namespace {

using testing::refusal;

std::string text_of(const std::vector<HostSlots>& hosts) {
  std::vector<std::string> texts;
  for (const HostSlots& host : hosts) texts.push_back(concat(host.name, "=", host.slots));
  return join_texts(texts, " ");
}

std::string in_list(const std::string& text) { return text_of(parse_host_list(text, "--hosts")); }
std::string in_file(const std::string& text) { return text_of(parse_host_file(text, "hosts.txt")); }

TEST(HostList, SaysHowManyWorkersAHostTakes) {
  EXPECT_EQ(in_list("a:4,b:2"), "a=4 b=2");
  EXPECT_EQ(in_list("a, node-7.example.org:255"), "a=1 node-7.example.org=255");
  EXPECT_EQ(in_list("me@a:2,10.0.0.7"), "me@a=2 10.0.0.7=1");
  EXPECT_EQ(in_list("[fe80::1%eth0]:2,me@[::1]"), "fe80::1%eth0=2 me@::1=1");
}

TEST(HostList, AHostNamedTwiceHasTheSlotsOfBothAtItsFirstPlace) {
  EXPECT_EQ(in_list("a:2,b,a,b"), "a=3 b=2");
  EXPECT_EQ(in_file("a\nb\na\n"), "a=2 b=1");
}

TEST(HostList, RefusesWhatIsNoHost) {
  for (const std::string word : {"", ":4", "-x", "-oProxyCommand=x:1", "a b", "a;b", "a$b", "a'", "@a", "a@",
                                 "a@b@", "::1", "[::1", "[a]:2", "[::1]4", "a/b"}) {
    SCOPED_TRACE(word);
    const std::string why = refusal([&] { parse_host_list("x," + word, "--hosts"); });
    EXPECT_TRUE(why.starts_with("--hosts")) << why;
  }
  EXPECT_EQ(refusal([] { parse_host_list("a;b:2", "--hosts"); }),
            "--hosts: 'a;b:2' is not a host; allowed: NAME or NAME:WORKERS, as in node1:4,node2:4");
  EXPECT_EQ(refusal([] { parse_host_list(" ", "--hosts"); }),
            "--hosts is empty; allowed: NAME:WORKERS,NAME:WORKERS,...");
}

TEST(HostList, RefusesNumbersOfWorkersThatNoHostTakes) {
  for (const std::string number : {"0", "-1", "256", "x", "", "2.5", "4:4"}) {
    EXPECT_EQ(refusal([&] { parse_host_list("a:" + number, "--hosts"); }),
              concat("--hosts, the workers of a: '", number, "' is not a whole number from 1 to 255"));
  }
  EXPECT_EQ(refusal([] { parse_host_list("a:200,b,a:56", "--hosts"); }),
            "--hosts: 256 workers on a; allowed: up to 255 on a host");
}

TEST(HostFile, HasAHostALine) {
  EXPECT_EQ(in_file("# our machines\na:4\n\n  b slots=2  # the old one\nc\r\n\td\tslots=3\n[::1] slots=2"),
            "a=4 b=2 c=1 d=3 ::1=2");
}

TEST(HostFile, RefusesALineByItsNumber) {
  EXPECT_EQ(refusal([] { parse_host_file("a\n\nb cores=2\n", "hosts.txt"); }),
            "hosts.txt, line 3: 'b cores=2' is not a host; allowed: NAME, NAME:4 or NAME slots=4");
  EXPECT_EQ(refusal([] { parse_host_file("a:2 slots=2", "hosts.txt"); }),
            "hosts.txt, line 1: 'a:2 slots=2' is not a host; allowed: NAME, NAME:4 or NAME slots=4");
  EXPECT_EQ(refusal([] { parse_host_file("a slots=0", "hosts.txt"); }),
            "hosts.txt, line 1, the workers of a: '0' is not a whole number from 1 to 255");
  EXPECT_EQ(refusal([] { parse_host_file("a slots=2 max_slots=4", "hosts.txt"); }),
            "hosts.txt, line 1, the workers of a: '2 max_slots=4' is not a whole number from 1 to 255");
  for (const std::string text : {"", "\n \n# a\n"}) {
    EXPECT_EQ(refusal([&] { parse_host_file(text, "hosts.txt"); }),
              "hosts.txt names no host; allowed: NAME, NAME:4 or NAME slots=4, a host a line");
  }
}

TEST(HostList, WorkersFillTheHostsAndTheServiceIsWithRankZero) {
  const std::vector<HostSlots> hosts{{"a", 2}, {"b", 1}, {"c", 2}};
  EXPECT_EQ(slots_of(hosts), 5);
  EXPECT_EQ(place_ranks(hosts, 5, 5), (std::vector<std::size_t>{0, 0, 1, 2, 2}));
  EXPECT_EQ(place_ranks(hosts, 3, 4), (std::vector<std::size_t>{0, 0, 1, 0}));
  EXPECT_EQ(refusal([&] { place_ranks(hosts, 6, 6); }), "6 workers on hosts for 5");
}

TEST(HostList, TheAddressOfAHostIsItsNameWithoutTheUser) {
  EXPECT_EQ(address_in("me@a"), "a");
  EXPECT_EQ(address_in("a"), "a");
}

}  // namespace
}  // namespace starling::launch
