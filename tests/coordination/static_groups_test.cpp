#include "starling/coordination/static_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "starling/core/error.h"
#include "starling/core/random.h"
#include "tests/support/refusal.h"

namespace starling::coordination {
namespace {

constexpr std::array<std::size_t, 5> kSizes{0, 2, 3, 4, 5};

struct Shape {
  Group members;
  std::vector<int> host_of;  // by rank
};

// Consecutive ranks on a host.
Shape even_shape(int hosts, int workers_each) {
  Shape shape;
  for (Rank rank = 0; rank < hosts * workers_each; ++rank) {
    shape.members.push_back(rank);
    shape.host_of.push_back(rank / workers_each);
  }
  return shape;
}

// Hosts of any size, ranks on them in any order; some ranks are lost.
Shape random_shape(std::uint64_t seed) {
  Random random(seed);
  Shape shape;
  const int ranks = random.between(1, 24), hosts = random.between(1, 8);
  const double losses = random.chance(0.5) ? 0 : random.uniform() / 2;
  for (Rank rank = 0; rank < ranks; ++rank) {
    shape.host_of.push_back(random.between(0, hosts - 1));
    if (!random.chance(losses)) shape.members.push_back(rank);
  }
  return shape;
}

// The members that the first one reaches through the averages of one cycle, directly or through others.
std::size_t reached(const StaticGroups& groups, const Group& members) {
  std::set<Rank> found{members.front()};
  for (std::size_t before = 0; before < found.size();) {
    before = found.size();
    for (const Rank rank : std::set<Rank>(found)) {
      for (std::uint64_t round = 0; round < StaticGroups::kCycle; ++round) {
        const Group group = groups.group_of(round, rank);
        found.insert(group.begin(), group.end());
      }
    }
  }
  return found.size();
}

// Every member computes the same group, so groups have no common members. No more than `size` are in one.
void expect_consistent(const StaticGroups& groups, const Shape& shape, std::size_t size) {
  for (std::uint64_t round = 0; round < StaticGroups::kCycle; ++round) {
    for (const Rank rank : shape.members) {
      const Group group = groups.group_of(round, rank);
      ASSERT_TRUE(std::is_sorted(group.begin(), group.end()));
      ASSERT_TRUE(std::binary_search(group.begin(), group.end(), rank));
      ASSERT_TRUE(size == 0 || group.size() <= size);
      for (const Rank member : group) {
        ASSERT_TRUE(std::binary_search(shape.members.begin(), shape.members.end(), member));
        ASSERT_EQ(groups.group_of(round, member), group) << "round " << round << ", rank " << rank;
      }
      ASSERT_EQ(groups.group_of(round + StaticGroups::kCycle, rank), group);
    }
  }
}

void expect_good_schedule(const Shape& shape, std::size_t size) {
  if (shape.members.empty()) return;
  const StaticGroups groups(shape.members, shape.host_of, size);
  expect_consistent(groups, shape, size);
  EXPECT_EQ(reached(groups, shape.members), shape.members.size());
}

std::set<int> hosts_of(const Shape& shape, const Group& group) {
  std::set<int> hosts;
  for (const Rank rank : group) hosts.insert(shape.host_of[static_cast<std::size_t>(rank)]);
  return hosts;
}

TEST(StaticGroups, AnyEvenShape) {
  for (const std::size_t size : kSizes) {
    for (int hosts = 1; hosts <= 8; ++hosts) {
      for (int workers = 1; workers <= 8; ++workers) {
        SCOPED_TRACE(concat(hosts, " hosts of ", workers, ", groups of ", size));
        expect_good_schedule(even_shape(hosts, workers), size);
      }
    }
  }
}

TEST(StaticGroups, AnyUnevenShapeWithSomeLost) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    for (const std::size_t size : kSizes) {
      SCOPED_TRACE(concat("seed ", seed, ", groups of ", size));
      expect_good_schedule(random_shape(seed), size);
    }
  }
}

TEST(StaticGroups, InsideHostsAndAcrossThemInTurn) {
  for (const std::size_t size : kSizes) {
    for (int hosts = 2; hosts <= 8; ++hosts) {
      for (int workers = 2; workers <= 8; ++workers) {
        const Shape shape = even_shape(hosts, workers);
        const StaticGroups groups(shape.members, shape.host_of, size);
        for (std::uint64_t round = 0; round < StaticGroups::kCycle; ++round) {
          for (const Rank rank : shape.members) {
            const Group group = groups.group_of(round, rank);
            EXPECT_EQ(hosts_of(shape, group).size(), round % 2 == 0 ? 1 : group.size());
          }
        }
      }
    }
  }
}

TEST(StaticGroups, FourHostsOfFour) {
  const Shape shape = even_shape(4, 4);
  const StaticGroups groups(shape.members, shape.host_of, 0);
  for (std::uint64_t round = 0; round < StaticGroups::kCycle; ++round) {
    for (const Rank rank : shape.members) {
      const Rank host = rank / 4, index = rank % 4;
      Group expected{4 * host, 4 * host + 1, 4 * host + 2, 4 * host + 3};
      if (round % 2 == 1) {
        const bool takes_part = (index >= 2) == (round % 4 == 3);
        expected = takes_part ? Group{index, index + 4, index + 8, index + 12} : Group{rank};
      }
      EXPECT_EQ(groups.group_of(round, rank), expected) << "round " << round << ", rank " << rank;
    }
  }
}

TEST(StaticGroups, ASingleWorkerIsAlone) {
  for (const std::size_t size : kSizes) {
    const StaticGroups groups({3}, {0, 0, 1, 1}, size);
    for (std::uint64_t round = 0; round < StaticGroups::kCycle; ++round) {
      EXPECT_EQ(groups.group_of(round, 3), Group{3});
    }
  }
}

TEST(StaticGroups, WhatCannotBeIsRefused) {
  EXPECT_EQ(testing::refusal([] {
              StaticGroups({0, 1}, {0, 0}, 1);
            }),
            "a group size of 1 averages nothing; allowed: 0 or at least 2");
  EXPECT_EQ(testing::refusal([] {
              StaticGroups({0, 2}, {0, 0, 0}, 0).group_of(0, 1);
            }),
            "rank 1 has no groups; members are 0, 2");
}

}  // namespace
}  // namespace starling::coordination
