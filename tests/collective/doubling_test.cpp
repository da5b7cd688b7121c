#include "starling/collective/doubling.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "starling/collective/fold.h"
#include "starling/core/partition.h"
#include "starling/runtime/deadline.h"
#include "tests/collective/data.h"
#include "tests/support/virtual_ranks.h"

namespace starling::collective {
namespace {

using testing::element_of;
using testing::everyone;
using testing::vector_of;
using testing::VirtualRanks;

TEST(Fold, SeatsAreContiguousRunsOfMembers) {
  for (std::size_t members = 1; members <= 40; ++members) {
    const Fold fold(members);
    EXPECT_TRUE(std::has_single_bit(fold.seats()));
    EXPECT_EQ(fold.seats() + fold.extras(), members);
    std::size_t next = 0;
    for (std::size_t seat = 0; seat < fold.seats(); ++seat) {
      EXPECT_EQ(fold.member_at(seat), next);
      EXPECT_FALSE(fold.sits_out(next));
      EXPECT_EQ(fold.seat_of(next), seat);
      next += fold.has_partner(next) ? 2 : 1;
    }
    EXPECT_EQ(next, members);
  }
}

// A balanced tree over seats, lower op higher.
float tree_sum(std::vector<float> seats) {
  for (; seats.size() > 1; seats.resize(seats.size() / 2)) {
    for (std::size_t i = 0; i < seats.size() / 2; ++i) seats[i] = seats[2 * i] + seats[2 * i + 1];
  }
  return seats[0];
}

TEST(Doubling, SumsAlongABalancedTree) {
  for (int members = 2; members <= 17; ++members) {
    Random random(static_cast<std::uint64_t>(members));
    std::vector<float> values(static_cast<std::size_t>(members));
    for (float& value : values) value = static_cast<float>(random.normal() * 1e3);
    const Fold fold(values.size());
    std::vector<float> seats;
    for (std::size_t seat = 0; seat < fold.seats(); ++seat) {
      const std::size_t member = fold.member_at(seat);
      seats.push_back(fold.has_partner(member) ? values[member] + values[member + 1] : values[member]);
    }
    const float expected = tree_sum(seats);
    const Group group = everyone(members);
    VirtualRanks ranks(members);
    ranks.run_all([&](Rank rank, Transport& net) {
      const Data data = element_of(values, rank);
      return doubling_all_reduce(net, group, data, ReduceOp::kSum, 1);
    });
    for (const float value : values) EXPECT_EQ(value, expected) << members;
  }
}

// -0 and 0 are equal, and a minimum keeps the first: only a fixed order gives all members the same bits.
TEST(Doubling, KeepsTheGroupsOrderInMinima) {
  for (int members = 2; members <= 9; ++members) {
    for (int zero = 0; zero < members; ++zero) {
      std::vector<float> values(static_cast<std::size_t>(members), 0.0f);
      values[static_cast<std::size_t>(zero)] = -0.0f;
      const Group group = everyone(members);
      VirtualRanks ranks(members);
      ranks.run_all([&](Rank rank, Transport& net) {
        const Data data = element_of(values, rank);
        return doubling_all_reduce(net, group, data, ReduceOp::kMin, 1);
      });
      for (const float value : values) EXPECT_EQ(std::signbit(value), zero == 0);
    }
  }
}

TEST(Doubling, GathersUnequalSlices) {
  for (int members = 1; members <= 17; ++members) {
    for (const std::size_t count : {0, 1, 5, 16, 17, 40}) {
      const auto n = static_cast<std::size_t>(members);
      std::vector<int> expected(count);
      std::vector<std::vector<int>> values(n, std::vector<int>(count, -1));
      for (std::size_t member = 0; member < n; ++member) {
        const Slice own = slice_of(count, n, member);
        for (std::size_t at = own.begin; at < own.end; ++at) {
          expected[at] = values[member][at] = static_cast<int>(100 * member + at);
        }
      }
      const Group group = everyone(members);
      VirtualRanks ranks(members);
      ranks.run_all([&](Rank rank, Transport& net) {
        const Data data = vector_of(values, rank);
        return doubling_all_gather(net, group, data, 1);
      });
      for (const auto& vector : values) EXPECT_EQ(vector, expected) << members << " members, " << count;
    }
  }
}

TEST(Doubling, BroadcastsFromAnyRoot) {
  for (int members = 1; members <= 9; ++members) {
    for (Rank root = 0; root < members; ++root) {
      std::vector<int> values(static_cast<std::size_t>(members), -1);
      values[static_cast<std::size_t>(root)] = 42;
      const Group group = everyone(members);
      VirtualRanks ranks(members);
      ranks.run_all([&](Rank rank, Transport& net) {
        return tree_broadcast(net, group, root, element_of(values, rank), 1);
      });
      EXPECT_EQ(values, std::vector<int>(values.size(), 42));
    }
  }
}

Task<> enter_late(Transport& net, const Group& group, Duration when, Time& left) {
  co_await runtime::sleep_for(when);
  co_await dissemination_barrier(net, group, 1);
  left = net.scheduler().now();
}

TEST(Doubling, NobodyLeavesABarrierBeforeTheLastEnters) {
  for (int members = 2; members <= 9; ++members) {
    for (Rank last = 0; last < members; ++last) {
      const Group group = everyone(members);
      std::vector<Time> left(static_cast<std::size_t>(members));
      VirtualRanks ranks(members);
      ranks.run_all([&](Rank rank, Transport& net) {
        const auto when = std::chrono::milliseconds(rank == last ? 100 : rank);
        return enter_late(net, group, when, left[static_cast<std::size_t>(rank)]);
      });
      for (const Time time : left) EXPECT_GE(time, Time(std::chrono::milliseconds(100)));
    }
  }
}

}  // namespace
}  // namespace starling::collective
