#include "starling/core/text.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/refusal.h"

namespace starling {
namespace {

using namespace std::chrono_literals;
using testing::refusal;
using Parts = std::vector<std::string>;

TEST(Text, TrimsBothEnds) {
  EXPECT_EQ(trim("  a b \t\n"), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, SplitsAtEverySeparator) {
  EXPECT_EQ(split("", ','), Parts{});
  EXPECT_EQ(split("a", ','), Parts{"a"});
  EXPECT_EQ(split("a,,b", ','), (Parts{"a", "", "b"}));
  EXPECT_EQ(split(" a , b c ", ','), (Parts{"a", "b c"}));
  EXPECT_EQ(split(",", ','), (Parts{"", ""}));
  EXPECT_EQ(split("a,", ','), (Parts{"a", ""}));
}

TEST(Text, FindsWordsBetweenBlanks) {
  EXPECT_EQ(words_of("  one \ttwo\n three"), (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_EQ(words_of("one"), std::vector<std::string>{"one"});
  EXPECT_TRUE(words_of("").empty());
  EXPECT_TRUE(words_of(" \t ").empty());
}

TEST(Text, WritesHexadecimalNumbers) {
  EXPECT_EQ(format_hex(0), "0");
  EXPECT_EQ(format_hex(0x2f), "2f");
  EXPECT_EQ(format_hex(0x803, 8), "00000803");
  EXPECT_EQ(format_hex(~std::uint64_t{0}), "ffffffffffffffff");
  EXPECT_EQ(format_hex(0x1234, 2), "1234");
}

TEST(Text, ReadsSizes) {
  EXPECT_EQ(parse_size("0", "x"), 0u);
  EXPECT_EQ(parse_size("0g", "x"), 0u);
  EXPECT_EQ(parse_size("17", "x"), 17u);
  EXPECT_EQ(parse_size("1k", "x"), 1024u);
  EXPECT_EQ(parse_size("64K", "x"), 65536u);
  EXPECT_EQ(parse_size("100m", "x"), 100u << 20);
  EXPECT_EQ(parse_size("2g", "x"), std::size_t{2} << 30);
  EXPECT_EQ(parse_size("18446744073709551615", "x"), std::numeric_limits<std::size_t>::max());
  EXPECT_EQ(parse_size("17179869183g", "x"), std::size_t{17179869183} << 30);
}

TEST(Text, RefusesWhatIsNoSize) {
  for (const char* text : {"", "k", "12x", "1.5m", "-1", "+1", " 1", "1 ", "1kk", "1kb", "0x10", "g1"}) {
    EXPECT_EQ(refusal([&] { parse_size(text, "--sizes"); }),
              concat("--sizes: '", text, "' is not a size (a whole number with an optional k, m or g)"));
  }
  for (const char* text : {"18446744073709551616", "17179869184g", "99999999999999999999999k"}) {
    EXPECT_EQ(refusal([&] { parse_size(text, "--sizes"); }),
              concat("--sizes: '", text, "' is too large for a size"));
  }
}

TEST(Text, ReadsIntegersWithinTheRange) {
  EXPECT_EQ(parse_integer("0", "x", 0, 9), 0);
  EXPECT_EQ(parse_integer("9", "x", 0, 9), 9);
  EXPECT_EQ(parse_integer("-9", "x", -9, 9), -9);
  constexpr long long kLowest = std::numeric_limits<long long>::min();
  EXPECT_EQ(parse_integer("-9223372036854775808", "x", kLowest, 0), kLowest);
  for (const char* text : {"", "10", "-1", "1x", " 1", "1.0", "99999999999999999999"}) {
    EXPECT_EQ(refusal([&] { parse_integer(text, "--ranks", 0, 9); }),
              concat("--ranks: '", text, "' is not a whole number from 0 to 9"));
  }
}

TEST(Text, WritesSizesThatReadBack) {
  EXPECT_EQ(format_size(0), "0");
  EXPECT_EQ(format_size(1), "1");
  EXPECT_EQ(format_size(1024), "1k");
  EXPECT_EQ(format_size(1536), "1536");
  EXPECT_EQ(format_size(65536), "64k");
  EXPECT_EQ(format_size(std::size_t{100} << 20), "100m");
  EXPECT_EQ(format_size(std::size_t{3} << 30), "3g");
  for (std::size_t size = 1; size != 0; size *= 2) {
    for (const std::size_t near : {size - 1, size, size + 1, size + size / 2}) {
      EXPECT_EQ(parse_size(format_size(near), "x"), near);
    }
  }
}

TEST(Text, WritesDurationsWithThreeDigits) {
  EXPECT_EQ(format_duration(0ns), "0 s");
  EXPECT_EQ(format_duration(7ns), "7 ns");
  EXPECT_EQ(format_duration(999ns), "999 ns");
  EXPECT_EQ(format_duration(1001ns), "1 us");
  EXPECT_EQ(format_duration(1050ns), "1.05 us");
  EXPECT_EQ(format_duration(230us), "230 us");
  EXPECT_EQ(format_duration(230400ns), "230 us");
  EXPECT_EQ(format_duration(999500ns), "1 ms");
  EXPECT_EQ(format_duration(12345us), "12.3 ms");
  EXPECT_EQ(format_duration(1500ms), "1.5 s");
  EXPECT_EQ(format_duration(1234s), "1230 s");
  EXPECT_EQ(format_duration(-1500ms), "-1.5 s");
  EXPECT_EQ(format_duration(kForever), "forever");
  EXPECT_EQ(format_duration(Duration::min()), "-9220000000 s");
}

TEST(Text, ReadsNumbersWithinTheRange) {
  EXPECT_EQ(parse_number("0.25", "x", 0, 1), 0.25);
  EXPECT_EQ(parse_number("1e-3", "x", 0, 1), 0.001);
  EXPECT_EQ(parse_number("1", "x", 0, 1), 1);
  for (const char* text : {"", "1.01", "-0.1", "1x", " 1", "0x1", "nan", "inf", "1e999", "0,5"}) {
    EXPECT_EQ(refusal([&] { parse_number(text, "--rate", 0, 1); }),
              concat("--rate: '", text, "' is not a number from 0 to 1"));
  }
}

TEST(Text, SeparatesANumberFromItsUnit) {
  const auto read = read_quantity("1.5ms");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->number, 1.5);
  EXPECT_EQ(read->unit, "ms");
  EXPECT_EQ(read_quantity("2e3")->number, 2000);
  EXPECT_EQ(read_quantity("2e3")->unit, "");
  EXPECT_EQ(read_quantity("2e")->unit, "e");
  for (const char* text : {"", "ms", "1 ms", "1.5.2s", "nan", "1e999s", "1ms1", "1MS"}) {
    EXPECT_FALSE(read_quantity(text)) << text;
  }
}

TEST(Text, ReadsDurations) {
  EXPECT_EQ(parse_duration("0", "x"), 0ns);
  EXPECT_EQ(parse_duration("3ns", "x"), 3ns);
  EXPECT_EQ(parse_duration("50us", "x"), 50us);
  EXPECT_EQ(parse_duration("10ms", "x"), 10ms);
  EXPECT_EQ(parse_duration("2s", "x"), 2s);
  EXPECT_EQ(parse_duration("1.5s", "x"), 1500ms);
  EXPECT_EQ(parse_duration("0.1", "x"), 100ms);
  EXPECT_EQ(parse_duration("1e-3", "x"), 1ms);
  EXPECT_EQ(parse_duration("1m", "x"), 60s);
  EXPECT_EQ(parse_duration("2h", "x"), 2h);
  EXPECT_EQ(parse_duration("0.4ns", "x"), 0ns);
  EXPECT_EQ(parse_duration("0.6ns", "x"), 1ns);
  EXPECT_EQ(parse_duration("600000h", "x"), 600000h);
}

TEST(Text, RefusesWhatIsNoDuration) {
  for (const char* text :
       {"", "s", "-1s", "-1e-9", "1 s", " 1s", "1S", "1sec", "1d", "ten", "nan", "inf", "1e999"}) {
    EXPECT_EQ(
        refusal([&] { parse_duration(text, "--at"); }),
        concat("--at: '", text,
               "' is not a duration (a number from 0 with ns, us, ms, s, m or h; without a unit: seconds)"));
  }
  for (const char* text : {"1e10", "700000h", "1e300h", "9223372036854775807ns"}) {
    EXPECT_EQ(refusal([&] { parse_duration(text, "--at"); }),
              concat("--at: '", text, "' is too long for a duration (73 years)"));
  }
}

TEST(Text, FindsTheNearestName) {
  constexpr std::string_view kNames[] = {"network", "inside", "jitter", "workers", "worker", "to"};
  EXPECT_EQ(nearest("netwrok", kNames), "network");
  EXPECT_EQ(nearest("iniside", kNames), "inside");
  EXPECT_EQ(nearest("jiter", kNames), "jitter");
  EXPECT_EQ(nearest("worker", kNames), "worker");
  EXPECT_EQ(nearest("workerz", kNames), "workers");
  EXPECT_EQ(nearest("t", kNames), "to");
  EXPECT_EQ(nearest("speed", kNames), "");
  EXPECT_EQ(nearest("", kNames), "");
  EXPECT_EQ(nearest("xy", kNames), "");
  EXPECT_EQ(nearest("network", {}), "");
  constexpr std::string_view kLong[] = {"gradient_compression"};
  EXPECT_EQ(nearest("gradiant_compresion_x", kLong), "gradient_compression");
  EXPECT_EQ(nearest("gradient", kLong), "");
}

TEST(Text, JoinsAndConcatenates) {
  EXPECT_EQ(join_texts(std::vector<int>{0, 2, 5}), "0, 2, 5");
  EXPECT_EQ(join_texts(std::vector<int>{}), "");
  EXPECT_EQ(join_texts(Parts{"a", "b"}, "/"), "a/b");
  EXPECT_EQ(concat("rank ", 3, " of ", 4.5), "rank 3 of 4.5");
}

}  // namespace
}  // namespace starling
