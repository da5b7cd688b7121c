#include "starling/data/order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/refusal.h"

namespace starling::data {
namespace {

TEST(EpochOrder, HasEverySampleOnce) {
  for (const std::size_t size : {0U, 1U, 2U, 7U, 1000U}) {
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
      std::vector<std::uint32_t> order = epoch_order(size, 3, epoch);
      ASSERT_EQ(order.size(), size);
      std::sort(order.begin(), order.end());
      for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(order[i], i);
    }
  }
}

TEST(EpochOrder, IsTheSameOnEveryMachine) {
  EXPECT_EQ(epoch_order(8, 1, 0), (std::vector<std::uint32_t>{0, 1, 4, 6, 7, 5, 2, 3}));
  EXPECT_EQ(epoch_order(8, 1, 1), (std::vector<std::uint32_t>{1, 2, 4, 0, 7, 5, 6, 3}));
}

TEST(EpochOrder, DependsOnSeedAndEpoch) {
  EXPECT_EQ(epoch_order(100, 4, 2), epoch_order(100, 4, 2));
  EXPECT_NE(epoch_order(100, 4, 2), epoch_order(100, 4, 3));
  EXPECT_NE(epoch_order(100, 4, 2), epoch_order(100, 2, 4));
}

// Each of 5 samples is at each position in about a fifth of the epochs.
TEST(EpochOrder, IsFair) {
  constexpr int kEpochs = 5000;
  std::vector<int> counts(25);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const std::vector<std::uint32_t> order = epoch_order(5, 1, static_cast<std::uint64_t>(epoch));
    for (std::size_t place = 0; place < 5; ++place) ++counts[place * 5 + order[place]];
  }
  for (const int count : counts) EXPECT_NEAR(count, kEpochs / 5, 150);  // 5 standard deviations
}

TEST(EpochOrder, HasALimit) {
  EXPECT_EQ(testing::refusal([] { epoch_order((std::size_t{1} << 32) + 1, 1, 0); }),
            "epoch_order: 4294967297 samples; allowed: up to 4294967296");
}

}  // namespace
}  // namespace starling::data
