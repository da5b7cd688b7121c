#include "starling/collective/ring.h"

#include <gtest/gtest.h>

#include <vector>

#include "starling/core/partition.h"
#include "tests/collective/data.h"
#include "tests/support/virtual_ranks.h"

namespace starling::collective {
namespace {

using testing::everyone;
using testing::rough_values;
using testing::vector_of;
using testing::Vectors;
using testing::VirtualRanks;

// x[i+1] + x[i+2] + ... + x[i] for elements of slice i.
std::vector<float> chain_sums(const Vectors& values) {
  const std::size_t members = values.size(), count = values[0].size();
  std::vector<float> sums(count);
  for (std::size_t slice = 0; slice < members; ++slice) {
    const Slice range = slice_of(count, members, slice);
    for (std::size_t at = range.begin; at < range.end; ++at) {
      float sum = values[(slice + 1) % members][at];
      for (std::size_t step = 2; step <= members; ++step) sum += values[(slice + step) % members][at];
      sums[at] = sum;
    }
  }
  return sums;
}

TEST(Ring, SumsAlongTheRing) {
  for (int members = 2; members <= 9; ++members) {
    for (const std::size_t count : {0, 1, 2, 7, 8, 9, 100}) {
      Vectors values = rough_values(static_cast<std::size_t>(members), count);
      const std::vector<float> expected = chain_sums(values);
      const Group group = everyone(members);
      VirtualRanks ranks(members);
      ranks.run_all([&](Rank rank, Transport& net) {
        return ring_all_reduce(net, group, vector_of(values, rank), ReduceOp::kSum, 1);
      });
      for (const auto& vector : values) EXPECT_EQ(vector, expected) << members << " members, " << count;
    }
  }
}

TEST(Ring, ReduceScatterCompletesSliceIAtMemberI) {
  const Group group = {2, 0, 3, 1};
  Vectors values = rough_values(4, 10);
  Vectors in_group_order;
  for (const Rank rank : group) in_group_order.push_back(values[static_cast<std::size_t>(rank)]);
  const std::vector<float> expected = chain_sums(in_group_order);
  VirtualRanks ranks(4);
  ranks.run_all([&](Rank rank, Transport& net) {
    return ring_reduce_scatter(net, group, vector_of(values, rank), ReduceOp::kSum, 1);
  });
  for (std::size_t member = 0; member < 4; ++member) {
    const Slice own = slice_of(10, 4, member);
    for (std::size_t at = own.begin; at < own.end; ++at) {
      EXPECT_EQ(values[static_cast<std::size_t>(group[member])][at], expected[at]);
    }
  }
}

TEST(Ring, SendsEmptySlicesToo) {
  Vectors values = rough_values(5, 2);
  const Group group = everyone(5);
  VirtualRanks ranks(5);
  ranks.run_all([&](Rank rank, Transport& net) {
    return ring_all_reduce(net, group, vector_of(values, rank), ReduceOp::kSum, 1);
  });
  for (Rank rank = 0; rank < 5; ++rank) EXPECT_EQ(ranks.at(rank).traffic().messages, 8u);
}

// 2 (n-1) (alpha + M/n beta)
TEST(Ring, TakesTheTimeOfTheFormula) {
  const double alpha = 50e-6, beta = 0.8e-9;
  for (const int members : {2, 3, 8, 12}) {
    const std::size_t count = 24 * 1000;
    Vectors values = rough_values(static_cast<std::size_t>(members), count);
    const Group group = everyone(members);
    VirtualRanks::Link link;
    link.alpha = std::chrono::microseconds(50);
    link.seconds_per_byte = beta;
    VirtualRanks ranks(members, link);
    ranks.run_all([&](Rank rank, Transport& net) {
      return ring_all_reduce(net, group, vector_of(values, rank), ReduceOp::kSum, 1);
    });
    const double slice = static_cast<double>(count) * sizeof(float) / members;
    const double expected = 2 * (members - 1) * (alpha + slice * beta);
    EXPECT_NEAR(ranks.seconds(), expected, expected * 1e-3) << members;
  }
}

}  // namespace
}  // namespace starling::collective
