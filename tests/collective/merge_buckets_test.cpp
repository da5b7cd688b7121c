// The rule of MG-WFBP on cases that are computed by hand.
#include <gtest/gtest.h>

#include "starling/collective/buckets.h"

namespace starling::collective {
namespace {

constexpr std::size_t kSectionCount = 10'000;  // elements of a section: it may go alone
// An all-reduce of one section takes 1 + 4, of two 1 + 8 seconds.
constexpr LinkCost kCost{1, 1e-4};

std::vector<Slice> equal_sections(std::size_t count) {
  std::vector<Slice> sections;
  for (std::size_t i = 0; i < count; ++i) sections.push_back({i * kSectionCount, (i + 1) * kSectionCount});
  return sections;
}

// The sections of each bucket, from the back.
std::vector<Slice> merged(const std::vector<Slice>& sections, const std::vector<double>& ready,
                          const LinkCost& cost = kCost) {
  std::vector<Slice> found;
  for (const Bucket& bucket : merge_buckets(sections, ready, cost)) {
    EXPECT_EQ(bucket.elements.begin, sections[bucket.sections.begin].begin);
    EXPECT_EQ(bucket.elements.end, sections[bucket.sections.end - 1].end);
    found.push_back(bucket.sections);
  }
  return found;
}

using Found = std::vector<Slice>;

// The last section is ready at 0 and its all-reduce would start at once.
TEST(MergeBuckets, WaitForTheNextIfThatCostsLessThanAStartUp) {
  const auto sections = equal_sections(2);
  EXPECT_EQ(merged(sections, {0.5, 0}), (Found{{0, 2}}));
  EXPECT_EQ(merged(sections, {1.5, 0}), (Found{{1, 2}, {0, 1}}));  // though it is ready before the end at 5
  EXPECT_EQ(merged(sections, {1, 0}), (Found{{1, 2}, {0, 1}}));    // not less
}

TEST(MergeBuckets, SendBeforeWhatComesAfterTheEnd) {
  EXPECT_EQ(merged(equal_sections(2), {20, 0}, {30, 1e-4}), (Found{{0, 2}}));
  EXPECT_EQ(merged(equal_sections(2), {40, 0}, {30, 1e-4}), (Found{{1, 2}, {0, 1}}));
  // A start-up of less than nothing does not happen; one of nothing never pays.
  EXPECT_EQ(merged(equal_sections(2), {0.001, 0}, {0, 1e-4}), (Found{{1, 2}, {0, 1}}));
}

// Section 3 is sent from 0 to 5. Section 2 is ready at 2 and cannot start before 5; section 1, ready at 3 and
// thus before that start, goes with it: from 5 to 14. Section 0 is ready at 13, before the end but long after
// the start.
TEST(MergeBuckets, TakeWhatIsReadyBeforeTheLineIsFree) {
  EXPECT_EQ(merged(equal_sections(4), {13, 3, 2, 0}), (Found{{3, 4}, {1, 3}, {0, 1}}));
  EXPECT_EQ(merged(equal_sections(4), {5.5, 3, 2, 0}), (Found{{3, 4}, {0, 3}}));
}

// After the merge of two the line is free at 14, and not at 10 as after two that were sent alone.
TEST(MergeBuckets, CountTheTimeOfWhatWasMerged) {
  // 4 goes 0 to 5; 3 and 2 go 5 to 14; 1, ready at 7, waits until 14, so 0, ready at 13, joins it.
  EXPECT_EQ(merged(equal_sections(5), {13, 7, 2, 1.5, 0}), (Found{{4, 5}, {2, 4}, {0, 2}}));
}

TEST(MergeBuckets, SmallSectionsNeverGoAlone) {
  const std::vector<Slice> sections{{0, kSectionCount}, {kSectionCount, kSectionCount + 100}};
  EXPECT_EQ(merged(sections, {100, 0}), (Found{{0, 2}}));
  const std::vector<Slice> edge{{0, kSectionCount}, {kSectionCount, kSectionCount + kAlwaysMerged}};
  EXPECT_EQ(merged(edge, {100, 0}), (Found{{1, 2}, {0, 1}}));
  const std::vector<Slice> nothing{{0, kSectionCount}, {kSectionCount, kSectionCount}};
  EXPECT_EQ(merged(nothing, {100, 0}), (Found{{0, 2}}));
}

TEST(MergeBuckets, DoNotReachOverGaps) {
  EXPECT_EQ(merged({{0, kSectionCount}, {kSectionCount + 1, 2 * kSectionCount}}, {0, 0}),
            (Found{{1, 2}, {0, 1}}));
  EXPECT_EQ(merge_buckets({}, {}, kCost), Buckets{});
}

}  // namespace
}  // namespace starling::collective
