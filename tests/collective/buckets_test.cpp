#include "starling/collective/buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "starling/core/random.h"
#include "starling/core/text.h"

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

// Random sections and limits; some limits are 0 and some larger than the model.
struct Example {
  std::vector<Slice> sections;
  std::size_t most = 0;
  std::size_t edge = 0;

  explicit Example(std::uint64_t seed) {
    Random random(seed);
    std::vector<std::size_t> counts(static_cast<std::size_t>(random.between(1, 40)));
    for (std::size_t& count : counts) count = static_cast<std::size_t>(random.between(0, 50));
    sections = sections_of(counts);
    most = static_cast<std::size_t>(random.between(1, 400));
    edge = static_cast<std::size_t>(random.between(1, 100));
  }
};

// Buckets are in backward order, without a gap, with every section in one bucket and as a whole.
void expect_every_section_once(const Buckets& buckets, const std::vector<Slice>& sections) {
  std::size_t next_section = sections.size(), next_element = sections.back().end;
  for (const Bucket& bucket : buckets) {
    EXPECT_EQ(bucket.sections.end, next_section);
    EXPECT_EQ(bucket.elements.end, next_element);
    EXPECT_FALSE(bucket.sections.empty());
    next_section = bucket.sections.begin;
    next_element = bucket.elements.begin;
    EXPECT_EQ(bucket.elements.begin, sections[next_section].begin);
  }
  EXPECT_EQ(next_section, 0U);
  EXPECT_EQ(next_element, 0U);
}

TEST(Buckets, TheFirstMayBeSmaller) {
  const std::vector<Slice> sections = sections_of({4, 3, 2, 5, 1});
  EXPECT_EQ(fill_buckets(sections, 9, 1), (Buckets{{{14, 15}, {4, 5}}, {{4, 14}, {1, 4}}, {{0, 4}, {0, 1}}}));
  EXPECT_EQ(fill_buckets(sections, 1, 9), (Buckets{{{4, 15}, {1, 5}}, {{0, 4}, {0, 1}}}));  // nor need it be
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const Example example(seed);
    expect_every_section_once(fill_buckets(example.sections, example.most, example.edge), example.sections);
  }
}

TEST(Buckets, BecomeSmallerTowardsBothEnds) {
  const std::vector<Slice> sections = sections_of(std::vector<std::size_t>(32, 1));
  std::vector<std::size_t> sizes;
  for (const Bucket& bucket : taper_buckets(sections, 8, 1)) sizes.push_back(bucket.elements.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 2, 4, 8, 8, 4, 2, 1, 1, 1}));
}

// A bucket has at most half of the elements from the front up to its end, which are left when it begins; from
// the back it may double. Neither limits it below the edge, and a section is never cut.
TEST(Buckets, AreNoLargerThanTheyMayBe) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    const Example example(seed);
    const Buckets buckets = taper_buckets(example.sections, example.most, example.edge);
    expect_every_section_once(buckets, example.sections);
    std::size_t grown = example.edge;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      const std::size_t front = std::max(example.edge, buckets[i].elements.end / 2);
      const std::size_t limit = std::min({example.most, grown, front});
      grown = std::min(example.most, 2 * grown);
      const std::size_t size = buckets[i].elements.size();
      // There may also be sections without elements.
      const std::size_t first = example.sections[buckets[i].sections.end - 1].size();
      EXPECT_TRUE(size <= limit || size == first) << "bucket " << i << " has " << size << ", limit " << limit;
      if (i + 1 == buckets.size()) continue;
      const std::size_t refused = example.sections[buckets[i].sections.begin - 1].size();
      EXPECT_GT(size + refused, limit) << "bucket " << i << " had room for the next section";
    }
  }
}

TEST(Buckets, TaperAsFarAsSectionsTouch) {
  EXPECT_EQ(taper_buckets(std::vector<Slice>{{0, 4}, {6, 8}, {8, 9}}, 1000, 1000),
            (Buckets{{{6, 9}, {1, 3}}, {{0, 4}, {0, 1}}}));
  EXPECT_TRUE(taper_buckets({}, 1000, 1).empty());
}

TEST(Pieces, BelongToOneSectionEach) {
  EXPECT_EQ(cut_in_pieces(sections_of({2, 0, 7}), 3),
            (Buckets{{{7, 9}, {2, 3}}, {{5, 7}, {2, 3}}, {{2, 5}, {2, 3}}, {{0, 2}, {0, 1}}}));
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    const Example example(seed);
    std::size_t next = example.sections.back().end, last = example.sections.size();
    for (const Bucket& piece : cut_in_pieces(example.sections, example.most)) {
      const Slice section = example.sections[piece.sections.begin];
      EXPECT_EQ(piece.sections.size(), 1U);
      EXPECT_LE(piece.sections.begin, last);
      last = piece.sections.begin;
      EXPECT_EQ(piece.elements.end, next);
      next = piece.elements.begin;
      EXPECT_TRUE(piece.elements.begin >= section.begin && piece.elements.end <= section.end);
      EXPECT_FALSE(piece.elements.empty());
      EXPECT_LE(piece.elements.size(), example.most);
    }
    EXPECT_EQ(next, 0U);
  }
}

// Every number of every bucket, each more and each less, one bucket more or less, their order, and the rest.
TEST(Hash, DiffersForEveryChange) {
  const Buckets plan = taper_buckets(sections_of({4, 3, 2, 5, 1, 9, 9}), 8, 2);
  std::set<std::uint64_t> hashes{hash_of(plan, 1)};
  std::size_t changes = 1;
  const auto note = [&](const Buckets& changed, std::uint64_t more) {
    hashes.insert(hash_of(changed, more));
    ++changes;
  };
  for (std::uint64_t more : {0U, 2U, 3U}) note(plan, more);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    for (const std::size_t change : {std::size_t{1}, std::size_t{2}, ~std::size_t{0}}) {
      for (std::size_t Slice::*end : {&Slice::begin, &Slice::end}) {
        for (Slice Bucket::*what : {&Bucket::elements, &Bucket::sections}) {
          Buckets changed = plan;
          changed[i].*what.*end += change;
          note(changed, 1);
        }
      }
    }
    Buckets fewer = plan;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    note(fewer, 1);
    Buckets turned = plan;
    std::swap(turned[i], turned[(i + 1) % plan.size()]);
    note(turned, 1);
  }
  note({}, 1);
  EXPECT_EQ(hashes.size(), changes);
  EXPECT_EQ(hash_of(plan, 1), hash_of(Buckets(plan), 1));
}

TEST(SplitFront, TheForemostSectionsGoAlone) {
  const std::vector<Slice> sections = sections_of({2, 1, 5, 4});
  const Buckets together{{{8, 12}, {3, 4}}, {{0, 8}, {0, 3}}};
  const auto split = [&](std::size_t most) {
    Buckets buckets = together;
    split_front(buckets, sections, most);
    return buckets;
  };
  EXPECT_EQ(split(1), together) << "none is so small";
  EXPECT_EQ(split(2), (Buckets{{{8, 12}, {3, 4}}, {{2, 8}, {1, 3}}, {{0, 2}, {0, 1}}}));
  EXPECT_EQ(split(7), (Buckets{{{8, 12}, {3, 4}}, {{3, 8}, {2, 3}}, {{0, 3}, {0, 2}}}));
  EXPECT_EQ(split(8), together) << "all are";
  Buckets none;
  split_front(none, {}, 8);
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace starling::collective
