#include "starling/collective/halving.h"

#include <gtest/gtest.h>

#include <vector>

#include "starling/collective/fold.h"
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

// Seats half of all apart first, then a quarter, ...
std::vector<float> tree_sums(const Vectors& values) {
  const Fold fold(values.size());
  Vectors seats;
  for (std::size_t seat = 0; seat < fold.seats(); ++seat) {
    const std::size_t member = fold.member_at(seat);
    seats.push_back(values[member]);
    if (!fold.has_partner(member)) continue;
    for (std::size_t at = 0; at < seats[seat].size(); ++at) seats[seat][at] += values[member + 1][at];
  }
  for (std::size_t half = fold.seats() / 2; half > 0; half /= 2) {
    for (std::size_t seat = 0; seat < half; ++seat) {
      for (std::size_t at = 0; at < seats[seat].size(); ++at) seats[seat][at] += seats[seat + half][at];
    }
  }
  return seats[0];
}

TEST(Halving, SumsAlongOneTree) {
  for (int members = 2; members <= 17; ++members) {
    for (const std::size_t count : {0, 1, 2, 3, 15, 16, 17, 100}) {
      Vectors values = rough_values(static_cast<std::size_t>(members), count);
      const std::vector<float> expected = tree_sums(values);
      const Group group = everyone(members);
      VirtualRanks ranks(members);
      ranks.run_all([&](Rank rank, Transport& net) {
        const Data data = vector_of(values, rank);
        return halving_all_reduce(net, group, data, ReduceOp::kSum, 1);
      });
      for (const auto& vector : values) EXPECT_EQ(vector, expected) << members << " members, " << count;
    }
  }
}

TEST(Halving, TheHalvesOfAPowerOfTwoWorkAlone) {
  for (const int members : {2, 4, 8, 16}) {
    for (const std::size_t count : {0, 1, 3, 15, 16, 100}) {
      Vectors values = rough_values(static_cast<std::size_t>(members), count);
      const std::vector<float> expected = tree_sums(values);
      const Group group = everyone(members);
      VirtualRanks scatter(members);
      scatter.run_all([&](Rank rank, Transport& net) {
        const Data data = vector_of(values, rank);
        return halving_reduce_scatter(net, group, data, ReduceOp::kSum, 1);
      });
      for (std::size_t member = 0; member < values.size(); ++member) {
        const Slice own = slice_of(count, values.size(), member);
        for (std::size_t at = 0; at < count; ++at) {
          if (at < own.begin || at >= own.end) {
            values[member][at] = -1;
          } else {
            EXPECT_EQ(values[member][at], expected[at]);
          }
        }
      }
      VirtualRanks gather(members);
      gather.run_all([&](Rank rank, Transport& net) {
        return halving_all_gather(net, group, vector_of(values, rank), 1);
      });
      for (const auto& vector : values) EXPECT_EQ(vector, expected);
    }
  }
}

}  // namespace
}  // namespace starling::collective
