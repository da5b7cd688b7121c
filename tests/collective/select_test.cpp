#include "starling/collective/select.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "starling/collective/cost.h"
#include "starling/core/error.h"
#include "tests/support/virtual_ranks.h"

namespace starling::collective {
namespace {

using testing::everyone;
using testing::VirtualRanks;

std::string refusal(std::string_view text) {
  try {
    Selection::parse(text, "table");
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Select, ReadsRangesOfBytesAndGroups) {
  const Selection table = Selection::parse(
      "0-16k: doubling, 16k- @2-8: ring ,16k- @pow2 9-:halving,16k- @other 9-: ring", "table");
  EXPECT_EQ(table.choose(0, 2), Algorithm::kDoubling);
  EXPECT_EQ(table.choose(16383, 1000), Algorithm::kDoubling);
  EXPECT_EQ(table.choose(16384, 2), Algorithm::kRing);
  EXPECT_EQ(table.choose(16384, 8), Algorithm::kRing);
  EXPECT_EQ(table.choose(kUnlimited, 16), Algorithm::kHalving);
  EXPECT_EQ(table.choose(kUnlimited, 9), Algorithm::kRing);
}

TEST(Select, PrintsWhatItReads) {
  for (const char* text : {"0-: direct", "0-16k: doubling, 16k-: ring", "0- @2: doubling, 0- @3-: halving",
                           "0-1000 @pow2: halving, 0-1000 @other: ring, 1000- @2-8: ring, 1000- @9-: direct",
                           "0- @pow2 2-8: ring, 0- @other 2-8: doubling, 0- @9-: ring"}) {
    EXPECT_EQ(Selection::parse(text, "table").text(), text);
  }
  EXPECT_EQ(Selection::parse(Selection::network().text(), "table").text(), Selection::network().text());
}

TEST(Select, RefusesWithOneClearLine) {
  EXPECT_EQ(refusal("0-: tree"),
            "table: unknown algorithm 'tree'; allowed: direct, ring, doubling, halving, hierarchical");
  EXPECT_EQ(refusal(""), "table: the table is empty");
  EXPECT_EQ(refusal("ring"), "table: 'ring': expected 'bytes: algorithm', as in '0-16k: doubling'");
  EXPECT_EQ(refusal("0-: ring,"), "table: '': expected 'bytes: algorithm', as in '0-16k: doubling'");
  EXPECT_EQ(refusal("16k: ring"), "table: '16k': expected a range of bytes such as 0-16k or 16k-");
  EXPECT_EQ(refusal("x-: ring"), "table: 'x' is not a size (a whole number with an optional k, m or g)");
  EXPECT_EQ(refusal("16k-8k: ring"), "table: '16k-8k': the range of bytes is empty or reversed");
  EXPECT_EQ(refusal("0- @: ring"), "table: '@': expected a group size after it, such as 8, 2-8, 9- or pow2");
  EXPECT_EQ(refusal("0- @9-2: ring"), "table: '9-2': the range of group sizes is reversed");
  EXPECT_EQ(refusal("0- @1-: ring"), "table: group size: '1' is not a whole number from 2 to 1000000000");
  EXPECT_EQ(refusal("0- @odd: ring"), "table: group size: 'odd' is not a whole number from 2 to 1000000000");
}

TEST(Select, RefusesGapsAndOverlaps) {
  EXPECT_EQ(refusal("1-: ring"), "table: no row for 0 bytes in a group of 2");
  EXPECT_EQ(refusal("0-16k: ring"), "table: no row for 16k bytes in a group of 2");
  EXPECT_EQ(refusal("0-16k: doubling, 32k-: ring"), "table: no row for 16k bytes in a group of 2");
  EXPECT_EQ(refusal("0- @2-8: ring"), "table: no row for 0 bytes in a group of 9");
  EXPECT_EQ(refusal("0- @9-: ring"), "table: no row for 0 bytes in a group of 2");
  EXPECT_EQ(refusal("0- @pow2: ring"), "table: no row for 0 bytes in a group of 3");
  EXPECT_EQ(refusal("0- @other: ring"), "table: no row for 0 bytes in a group of 2");
  EXPECT_EQ(refusal("0- @2-8: ring, 0- @other 9-: ring"), "table: no row for 0 bytes in a group of 16");
  EXPECT_EQ(refusal("0- @2-16: ring, 0- @pow2 17-: ring"), "table: no row for 0 bytes in a group of 17");
  EXPECT_EQ(refusal("0-32k: doubling, 16k-: ring"),
            "table: '0-32k: doubling' and '16k-: ring' both match 16k bytes in a group of 2");
  EXPECT_EQ(refusal("0- @2-8: ring, 0- @8-: halving"),
            "table: '0- @2-8: ring' and '0- @8-: halving' both match 0 bytes in a group of 8");
}

// On 10 Gbit/s Ethernet, according to the formulas.
TEST(Select, TheNetworkTableIsNearTheBest) {
  const double alpha = 50e-6, beta = 0.8e-9;
  double worst = 1;
  for (std::size_t members = 2; members <= 64; ++members) {
    for (double size = 1; size < 300e6; size *= 1.1) {
      const auto bytes = static_cast<std::size_t>(size);
      const auto time = [&](Algorithm algorithm) {
        return time_of({Collective::kAllReduce, algorithm, members, bytes, 1}, alpha, beta);
      };
      const double best =
          std::min({time(Algorithm::kRing), time(Algorithm::kDoubling), time(Algorithm::kHalving)});
      worst = std::max(worst, time(Selection::network().choose(bytes, members)) / best);
    }
  }
  EXPECT_LT(worst, 1.5);
}

TEST(Select, ReadsTheEnvironment) {
  unsetenv("STARLING_ALLREDUCE");
  EXPECT_FALSE(Selection::from_environment());
  setenv("STARLING_ALLREDUCE", "0-: halving", 1);
  EXPECT_EQ(Selection::from_environment()->choose(7, 7), Algorithm::kHalving);
  setenv("STARLING_ALLREDUCE", "0-: fast", 1);
  EXPECT_THROW(Selection::from_environment(), InvalidArgument);
  unsetenv("STARLING_ALLREDUCE");
}

// Runs in separate processes, because the variable is read once.
class SelectDeathTest : public ::testing::Test {
 protected:
  SelectDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  [[noreturn]] static void choose_with(const char* table, Choice choice = {}) {
    setenv("STARLING_ALLREDUCE", table, 1);
    VirtualRanks ranks(2);
    for (int call = 1; call <= 2; ++call) {
      try {
        std::cerr << name_of(choose(ranks.at(0), everyone(2), 100, choice)) << ";";
      } catch (const InvalidArgument& error) {
        std::cerr << error.what() << ";";
      }
    }
    std::exit(0);
  }
};

TEST_F(SelectDeathTest, TheEnvironmentReplacesTheTable) {
  EXPECT_EXIT(choose_with("0-: halving"), ::testing::ExitedWithCode(0), "halving;halving;");
  EXPECT_EXIT(choose_with("0-: halving", Algorithm::kRing), ::testing::ExitedWithCode(0), "ring;ring;");
}

TEST_F(SelectDeathTest, ABadEnvironmentFailsEveryCall) {
  EXPECT_EXIT(
      choose_with("0-: fast"), ::testing::ExitedWithCode(0),
      "STARLING_ALLREDUCE: unknown algorithm 'fast'.*;STARLING_ALLREDUCE: unknown algorithm 'fast'.*;");
  EXPECT_EXIT(choose_with("0-: direct"), ::testing::ExitedWithCode(0),
              "direct needs memory .* transport inproc");
}

TEST(Select, WithoutSharedMemoryDirectIsRefused) {
  VirtualRanks ranks(3);
  EXPECT_EQ(choose(ranks.at(0), everyone(3), 100, {}), Algorithm::kDoubling);
  try {
    choose(ranks.at(0), {0, 2}, 100, Algorithm::kDirect);
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(),
                 "direct needs memory that all members share; group 0, 2 on transport inproc has none");
  }
}

}  // namespace
}  // namespace starling::collective
