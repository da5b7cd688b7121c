#include "starling/record/staleness.h"

#include <gtest/gtest.h>

#include <limits>

namespace starling::record {
namespace {

TEST(Staleness, EveryValueIsInItsBucket) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  for (const std::uint64_t value : {0UL, 1UL, 31UL, 32UL, 63UL, 64UL, 1000UL, 1UL << 40, kMost}) {
    const std::size_t bucket = Staleness::bucket_of(value);
    ASSERT_LT(bucket, Staleness::kBuckets) << value;
    EXPECT_LE(Staleness::first_of(bucket), value);
    EXPECT_GE(Staleness::last_of(bucket), value);
  }
  EXPECT_EQ(Staleness::bucket_of(kMost), Staleness::kBuckets - 1);
}

TEST(Staleness, BucketsLeaveNoGap) {
  for (std::size_t i = 1; i < Staleness::kBuckets; ++i) {
    EXPECT_EQ(Staleness::first_of(i), Staleness::last_of(i - 1) + 1) << i;
  }
}

TEST(Staleness, SmallPercentilesAreExact) {
  Staleness notes;
  for (std::uint64_t value = 1; value <= 20; ++value) {
    for (int i = 0; i < 10; ++i) notes.note(value);
  }
  EXPECT_EQ(notes.percentile(50), 10U);
  EXPECT_EQ(notes.percentile(51), 11U);
  EXPECT_EQ(notes.percentile(99), 20U);
  EXPECT_EQ(notes.percentile(0), 0U);
  EXPECT_EQ(Staleness{}.percentile(99), 0U);
}

TEST(Staleness, LargePercentilesAreBoundedByBucketAndMaximum) {
  Staleness notes;
  notes.note(33);
  notes.note(33);
  notes.note(100);
  EXPECT_EQ(notes.percentile(50), 63U);
  EXPECT_EQ(notes.percentile(99), 100U);
}

TEST(Staleness, MergedNotesAreThoseOfBoth) {
  Staleness one;
  Staleness other;
  Staleness both;
  for (std::uint64_t value = 0; value < 100; ++value) {
    (value % 3 == 0 ? one : other).note(value * value);
    both.note(value * value);
  }
  one.merge(other);
  EXPECT_EQ(one.count, 100U);
  EXPECT_EQ(one.sum, both.sum);
  EXPECT_EQ(one.max, 99U * 99U);
  EXPECT_EQ(one.buckets, both.buckets);
}

}  // namespace
}  // namespace starling::record
