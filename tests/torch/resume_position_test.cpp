#include "starling/torch/resume_position.h"

#include <gtest/gtest.h>

namespace starling::torch {
namespace {

using Shares = ResumePosition::Shares;

// Which epoch a worker goes on in, and how many of its shares it has had.
std::pair<int, std::uint64_t> where(ResumePosition position, std::uint64_t batches) {
  int epoch = 0;
  std::optional<std::uint64_t> shares;
  while (!(shares = position.in_epoch(batches))) ++epoch;
  return {epoch, *shares};
}

TEST(ResumePosition, ARunThatStartsAfreshSkipsNothing) {
  for (const Shares shares : {Shares::kEqual, Shares::kDynamicLockstep, Shares::kDynamic}) {
    EXPECT_EQ(where(ResumePosition(0, 1, 3, shares), 10), (std::pair<int, std::uint64_t>(0, 0)));
  }
  EXPECT_FALSE(ResumePosition().skip_one());
}

// Ten batches for three workers: three each.
TEST(ResumePosition, EqualSharesLeaveTheRestOfAnEpochOut) {
  EXPECT_EQ(where(ResumePosition(2, 0, 3, Shares::kEqual), 10), (std::pair<int, std::uint64_t>(0, 2)));
  EXPECT_EQ(where(ResumePosition(3, 0, 3, Shares::kEqual), 10), (std::pair<int, std::uint64_t>(1, 0)));
  EXPECT_EQ(where(ResumePosition(7, 2, 3, Shares::kEqual), 10), (std::pair<int, std::uint64_t>(2, 1)));
}

// Three workers had ten batches in four rounds, the last with one batch.
TEST(ResumePosition, InLockstepAllHadAsManyShares) {
  const auto at = [](session::SharePosition given) {
    return where(ResumePosition(99, 0, 3, Shares::kDynamicLockstep, given), 10);
  };
  EXPECT_EQ(at({0, 9}), (std::pair<int, std::uint64_t>(0, 3)));
  EXPECT_EQ(at({0, 10}), (std::pair<int, std::uint64_t>(1, 0)));
  // One was lost: two batches a round. Of the eight, the last two are given out again.
  EXPECT_EQ(at({2, 8}), (std::pair<int, std::uint64_t>(2, 2)));
}

TEST(ResumePosition, ByDemandAllWorkersTogetherHadTheBatches) {
  std::uint64_t had = 0;
  for (Rank rank = 0; rank < 3; ++rank) {
    const auto [epoch, shares] = where(ResumePosition(99, rank, 3, Shares::kDynamic, {1, 5}), 10);
    EXPECT_EQ(epoch, 1);
    had += shares;
  }
  EXPECT_EQ(had, 5U);
}

TEST(ResumePosition, SkipsOneByOneWhereEpochsAreOfUnknownLength) {
  ResumePosition position(3, 0, 2, Shares::kEqual);
  int skipped = 0;
  while (position.skip_one()) ++skipped;
  EXPECT_EQ(skipped, 3);
}

}  // namespace
}  // namespace starling::torch
