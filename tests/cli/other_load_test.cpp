#include "cli/bench/other_load.h"

#include <gtest/gtest.h>

namespace starling::cli {
namespace {

TEST(OtherLoad, ReadsTheFirstLineOfProcStat) {
  const auto seconds =
      core_seconds("cpu  100 200 300 4000 500 60 70 80 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n", 100);
  ASSERT_TRUE(seconds);
  EXPECT_DOUBLE_EQ(seconds->busy, 8.1);
  EXPECT_DOUBLE_EQ(seconds->all, 53.1);
}

TEST(OtherLoad, IsNotKnownWhereTheSystemDoesNotTell) {
  EXPECT_FALSE(core_seconds("", 100));
  EXPECT_FALSE(core_seconds("intr 1 2 3", 100));
  EXPECT_FALSE(core_seconds("cpu 1 2 3", 100));
}

TEST(OtherLoad, IsAPartOfTheCores) {
  const OtherLoad load;
  const double share = load.share().value_or(0);
  EXPECT_GE(share, 0);
  EXPECT_LE(share, 1);
}

}  // namespace
}  // namespace starling::cli
