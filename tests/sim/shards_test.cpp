#include "starling/sim/shards.h"

#include <gtest/gtest.h>

#include "starling/core/error.h"

namespace starling::sim {
namespace {

TEST(Shards, AreDisjointAndCoverAllSamples) {
  for (const int workers : {1, 3, 64, 1000, 2048}) {
    const Shards shards(2048, workers);
    std::size_t next = 0;
    for (Rank worker = 0; worker < workers; ++worker) {
      EXPECT_EQ(shards.of(worker).begin, next);
      EXPECT_FALSE(shards.of(worker).empty());
      next = shards.of(worker).end;
    }
    EXPECT_EQ(next, shards.samples());
    EXPECT_EQ(next, 2048u);
  }
}

TEST(Shards, GrowWithTheWorkers) {
  const Shards shards(2048, 10000);
  EXPECT_EQ(shards.samples(), 10000u);
  EXPECT_EQ(shards.of(9999), (Slice{9999, 10000}));
}

TEST(Shards, DrawsComeFromTheOwnShard) {
  const Shards shards(100, 7);
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const Slice own = shards.of(3);
    const std::size_t drawn = shards.draw(3, random);
    EXPECT_GE(drawn, own.begin);
    EXPECT_LT(drawn, own.end);
  }
}

TEST(Shards, RefuseStrangers) {
  EXPECT_THROW(Shards(10, 0), InvalidArgument);
  EXPECT_THROW(Shards(10, 2).of(2), InvalidArgument);
  EXPECT_THROW(Shards(10, 2).of(-1), InvalidArgument);
}

}  // namespace
}  // namespace starling::sim
