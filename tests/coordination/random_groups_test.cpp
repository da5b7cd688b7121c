#include "starling/coordination/random_groups.h"

#include <gtest/gtest.h>

#include "tests/coordination/worker_rosters.h"

namespace starling::coordination {
namespace {

TEST(RandomGroups, TheAskerAndOthersOfTheGivenNumber) {
  for (std::size_t size = 2; size <= 6; ++size) {
    RandomGroups policy(size, Random(size));
    const WorkerRoster roster = roll_of(9);
    for (int i = 0; i < 200; ++i) {
      const Rank who = i % 9;
      const auto decision = policy.asked(roster, who, Time());
      ASSERT_EQ(decision.groups.size(), 1U);
      const Group& members = decision.groups.front().members;
      EXPECT_EQ(members.size(), size);
      EXPECT_TRUE(has(members, who));
      EXPECT_TRUE(std::is_sorted(members.begin(), members.end()));
      EXPECT_EQ(std::adjacent_find(members.begin(), members.end()), members.end());
      EXPECT_TRUE(decision.alone.empty());
    }
  }
}

// Each of the 9 others is in a group of 3 with probability 2/9. The statistic has 8 degrees of freedom, less
// variance than chi-square because the two of a group differ; 30 would be a chance of 1 in 5000 with it.
TEST(RandomGroups, OthersAreDrawnUniformly) {
  constexpr int kDraws = 20'000;
  RandomGroups policy(3, Random(5));
  const WorkerRoster roster = roll_of(10);
  std::vector<int> drawn(10);
  for (int i = 0; i < kDraws; ++i) {
    const Group members = groups_of(policy.asked(roster, 4, Time())).front();
    for (const Rank rank : members) ++drawn[static_cast<std::size_t>(rank)];
  }
  EXPECT_EQ(drawn[4], kDraws);
  const double expected = kDraws * 2.0 / 9;
  double statistic = 0;
  for (std::size_t rank = 0; rank < drawn.size(); ++rank) {
    if (rank != 4) statistic += (drawn[rank] - expected) * (drawn[rank] - expected) / expected;
  }
  EXPECT_LT(statistic, 30);
}

// Workers in groups are drawn too; workers that have left are not.
TEST(RandomGroups, AllWhoArePresentIfTheyAreFewer) {
  RandomGroups policy(4, Random(1));
  WorkerRoster roster = roll_of(5);
  for (const Rank left : {0, 3}) {
    roster.present.erase(left);
    roster.idle.erase(left);
  }
  roster.idle.erase(2);
  EXPECT_EQ(groups_of(policy.asked(roster, 4, Time())), (std::vector<Group>{{1, 2, 4}}));
  roster.present.erase(1);
  roster.present.erase(2);
  const auto decision = policy.asked(roster, 4, Time());
  EXPECT_TRUE(decision.groups.empty());
  EXPECT_EQ(decision.alone, Group{4});
}

TEST(RandomGroups, AWorkerRunsAllItsGroupsBeforeItGoesOn) {
  EXPECT_TRUE(RandomGroups(3, Random(1)).drains());
}

}  // namespace
}  // namespace starling::coordination
