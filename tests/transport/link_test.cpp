#include "starling/transport/link.h"

#include <gtest/gtest.h>

#include "starling/core/text.h"
#include "tests/support/refusal.h"

namespace starling::transport {
namespace {

using namespace std::chrono_literals;
using testing::refusal;

TEST(Link, PresetsHaveNames) {
  EXPECT_EQ(parse_link("1gbe", "x"), (Link{1.25e8, 50us}));
  EXPECT_EQ(parse_link("10gbe", "x"), (Link{1.25e9, 50us}));
  EXPECT_EQ(parse_link("25gbe", "x"), (Link{3.125e9, 30us}));
  EXPECT_EQ(parse_link("100gib", "x"), (Link{12.5e9, 2us}));
  EXPECT_EQ(parse_link("nvlink", "x"), (Link{300e9, 1us}));
  EXPECT_EQ(parse_link("shm", "x"), (Link{10e9, 1us}));
  for (const LinkPreset& preset : link_presets()) EXPECT_EQ(parse_link(preset.name, "x"), preset.link);
}

TEST(Link, BandwidthAndLatencyCanBeGiven) {
  EXPECT_EQ(parse_link("40gbit/5us", "x"), (Link{5e9, 5us}));
  EXPECT_EQ(parse_link("100mbit/1ms", "x"), (Link{12.5e6, 1ms}));
  EXPECT_EQ(parse_link("1.5gbyte/0", "x"), (Link{1.5e9, 0us}));
  EXPECT_EQ(parse_link("20mbyte/3ns", "x"), (Link{20e6, 3ns}));
  EXPECT_EQ(parse_link("3e9/10us", "x"), (Link{3e9, 10us}));
}

TEST(Link, TheTextOfALinkIsReadBackExactly) {
  EXPECT_EQ(text_of({1.25e8, 50us}), "1gbe");
  for (const Link& link :
       {Link{1.25e8, 50us}, Link{1.25e8, 51us}, Link{1e9 / 3, 7ns}, Link{1e15, 0us}, Link{1, 3h}}) {
    EXPECT_EQ(parse_link(text_of(link), "x"), link) << text_of(link);
  }
}

TEST(Link, BytesTakeTheirTimeRoundedUp) {
  EXPECT_EQ((Link{1e9, 5us}.time_for(0)), 0ns);
  EXPECT_EQ((Link{1e9, 5us}.time_for(1000)), 1us);
  EXPECT_EQ((Link{3e9, 5us}.time_for(1)), 1ns);
  EXPECT_EQ((Link{1, 0us}.time_for(std::size_t{1} << 60)), kForever);
}

TEST(Link, RefusesUnknownNames) {
  EXPECT_EQ(
      refusal([] { parse_link("10gb", "--network"); }),
      "--network: '10gb' is not a network (did you mean '10gbe'?); allowed: 1gbe, 10gbe, 25gbe, 100gib, "
      "nvlink, shm or BANDWIDTH/LATENCY such as 40gbit/5us");
  EXPECT_EQ(refusal([] { parse_link("ethernet", "--network"); }),
            "--network: 'ethernet' is not a network; allowed: 1gbe, 10gbe, 25gbe, 100gib, nvlink, shm or "
            "BANDWIDTH/LATENCY such as 40gbit/5us");
}

TEST(Link, RefusesBadBandwidthsAndLatencies) {
  for (const char* text : {"", "fast", "0", "-1gbit", "0.5", "1e16", "10kbit", "1 gbit", "10gb"}) {
    EXPECT_EQ(refusal([&] { parse_link(concat(text, "/5us"), "--inside"); }),
              concat("--inside: '", text,
                     "' is not a bandwidth (1 to 1e15 bytes a second; units: gbit, mbit, gbyte, mbyte)"));
  }
  EXPECT_EQ(refusal([] { parse_link("1gbit/soon", "--inside"); }),
            "--inside: 'soon' is not a duration (a number from 0 with ns, us, ms, s, m or h; without a unit: "
            "seconds)");
  EXPECT_EQ(refusal([] { parse_link("1gbit/1us/2", "--inside"); }).substr(0, 31),
            "--inside: '1us/2' is not a dura");
}

}  // namespace
}  // namespace starling::transport
