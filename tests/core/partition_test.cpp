#include "starling/core/partition.h"

#include <gtest/gtest.h>

#include <limits>

namespace starling {
namespace {

static_assert(slice_of(10, 4, 0) == Slice{0, 3});
static_assert(slice_of(10, 4, 1) == Slice{3, 6});
static_assert(slice_of(10, 4, 2) == Slice{6, 8});
static_assert(slice_of(10, 4, 3) == Slice{8, 10});
static_assert(slice_of(2, 4, 3).empty());

TEST(Partition, CoversTheRangeInOrderAndInBalance) {
  for (std::size_t count = 0; count <= 70; ++count) {
    for (std::size_t parts = 1; parts <= 20; ++parts) {
      std::size_t next = 0;
      for (std::size_t index = 0; index < parts; ++index) {
        const Slice slice = slice_of(count, parts, index);
        EXPECT_EQ(slice.begin, next);
        EXPECT_EQ(slice.size(), count / parts + (index < count % parts ? 1 : 0));
        next = slice.end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(Partition, DoesNotOverflow) {
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(slice_of(kMax, 7, 6).end, kMax);
  EXPECT_EQ(slice_of(kMax, kMax, kMax - 1), (Slice{kMax - 1, kMax}));
}

}  // namespace
}  // namespace starling
