#include "starling/collective/buckets.h"

#include <gtest/gtest.h>

#include "starling/core/random.h"

namespace starling::collective {
namespace {

std::vector<Slice> sections_of(const std::vector<std::size_t>& counts) {
  std::vector<Slice> sections;
  std::size_t place = 0;
  for (const std::size_t count : counts) {
    sections.push_back({place, place + count});
    place += count;
  }
  return sections;
}

void expect_buckets(const std::vector<Slice>& sections, std::size_t enough,
                    const std::vector<Slice>& elements, const std::vector<Slice>& members) {
  const std::vector<Bucket> buckets = fill_buckets(sections, enough, enough);
  ASSERT_EQ(buckets.size(), elements.size());
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    EXPECT_EQ(buckets[i].elements, elements[i]) << "bucket " << i;
    EXPECT_EQ(buckets[i].sections, members[i]) << "bucket " << i;
  }
}

TEST(Buckets, FillFromTheLastSectionOn) {
  const std::vector<Slice> sections = sections_of({4, 3, 2, 5, 1});
  expect_buckets(sections, 6, {{9, 15}, {0, 9}}, {{3, 5}, {0, 3}});
  expect_buckets(sections, 7, {{7, 15}, {0, 7}}, {{2, 5}, {0, 2}});
}

TEST(Buckets, OneElementIsEnoughForABucketPerSection) {
  expect_buckets(sections_of({4, 3, 2}), 1, {{7, 9}, {4, 7}, {0, 4}}, {{2, 3}, {1, 2}, {0, 1}});
}

TEST(Buckets, MoreThanThereIsMakesOne) {
  expect_buckets(sections_of({4, 3, 2}), 1000, {{0, 9}}, {{0, 3}});
  EXPECT_TRUE(fill_buckets({}, 1000, 1000).empty());
}

TEST(Buckets, AreCutWhereSectionsDoNotTouch) {
  expect_buckets({{0, 4}, {6, 8}, {8, 9}}, 1000, {{6, 9}, {0, 4}}, {{1, 3}, {0, 1}});
  expect_buckets({{4, 6}, {0, 4}}, 1000, {{0, 4}, {4, 6}}, {{1, 2}, {0, 1}});  // in another order than memory
}

TEST(Buckets, HoldEverySectionOnceAndAreFull) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    std::vector<std::size_t> counts(static_cast<std::size_t>(random.between(1, 40)));
    for (std::size_t& count : counts) count = static_cast<std::size_t>(random.between(0, 50));
    const std::vector<Slice> sections = sections_of(counts);
    const auto enough = static_cast<std::size_t>(random.between(1, 120));
    const std::vector<Bucket> buckets = fill_buckets(sections, enough, enough);
    std::size_t next_section = sections.size(), next_element = sections.back().end;
    for (const Bucket& bucket : buckets) {
      EXPECT_EQ(bucket.sections.end, next_section);
      EXPECT_EQ(bucket.elements.end, next_element);
      EXPECT_FALSE(bucket.sections.empty());
      EXPECT_EQ(bucket.elements.begin, sections[bucket.sections.begin].begin);
      next_section = bucket.sections.begin;
      next_element = bucket.elements.begin;
      if (&bucket == &buckets.back()) continue;
      EXPECT_GE(bucket.elements.size(), enough);
      EXPECT_LT(bucket.elements.size() - sections[bucket.sections.begin].size(), enough) << "seed " << seed;
    }
    EXPECT_EQ(next_section, 0U);
    EXPECT_EQ(next_element, 0U);
  }
}

}  // namespace
}  // namespace starling::collective
