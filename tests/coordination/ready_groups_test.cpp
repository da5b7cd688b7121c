#include "starling/coordination/ready_groups.h"

#include <gtest/gtest.h>

#include "tests/coordination/worker_rosters.h"

namespace starling::coordination {
namespace {

using Groups = std::vector<Group>;

ReadyGroups::Rules rules_of(std::size_t size) {
  return {.size = size, .window = std::chrono::milliseconds(5)};
}

TEST(ReadyGroups, CloseWhenEnoughHaveCome) {
  ReadyGroups policy(rules_of(3));
  const WorkerRoster roster = roll_of(6);
  const auto first = policy.asked(roster, 4, at_ms(10));
  EXPECT_TRUE(first.groups.empty() && first.alone.empty());
  EXPECT_EQ(first.again, at_ms(15));
  const auto second = policy.asked(roster, 1, at_ms(12));
  EXPECT_TRUE(second.groups.empty() && second.alone.empty());
  EXPECT_EQ(groups_of(policy.asked(roster, 3, at_ms(14))), (Groups{{1, 3, 4}}));
  EXPECT_EQ(policy.asked(roster, 0, at_ms(14)).again, at_ms(19));  // a window of its own
}

TEST(ReadyGroups, CloseWhenTheWindowEnds) {
  ReadyGroups policy(rules_of(3));
  const WorkerRoster roster = roll_of(6);
  policy.asked(roster, 4, at_ms(10));
  policy.asked(roster, 1, at_ms(12));
  EXPECT_TRUE(policy.look(roster, at_ms(14)).groups.empty());
  EXPECT_EQ(groups_of(policy.look(roster, at_ms(15))), (Groups{{1, 4}}));
}

TEST(ReadyGroups, OneThatIsAloneAtTheEndOfTheWindowGoesOnAlone) {
  ReadyGroups policy(rules_of(3));
  const WorkerRoster roster = roll_of(6);
  policy.asked(roster, 4, at_ms(10));
  const auto decision = policy.look(roster, at_ms(15));
  EXPECT_TRUE(decision.groups.empty());
  EXPECT_EQ(decision.alone, Group{4});
  EXPECT_TRUE(policy.look(roster, at_ms(20)).alone.empty());
}

TEST(ReadyGroups, CloseWhenAllWhoAreLeftHaveCome) {
  ReadyGroups policy(rules_of(3));
  WorkerRoster roster = roll_of(3);
  policy.asked(roster, 0, at_ms(0));
  policy.asked(roster, 1, at_ms(0));
  roster.present.erase(2);
  policy.gone(2);
  EXPECT_EQ(groups_of(policy.look(roster, at_ms(1))), (Groups{{0, 1}}));
}

TEST(ReadyGroups, WhoIsGoneIsInNoGroup) {
  ReadyGroups policy(rules_of(3));
  WorkerRoster roster = roll_of(5);
  policy.asked(roster, 0, at_ms(0));
  policy.asked(roster, 1, at_ms(0));
  roster.present.erase(0);
  policy.gone(0);
  EXPECT_EQ(policy.look(roster, at_ms(5)).alone, Group{1});
}

TEST(ReadyGroups, WeighByHowFarBehindTheyAre) {
  ReadyGroups::Rules rules = rules_of(3);
  rules.weigh_staleness = true;
  ReadyGroups policy(rules);
  WorkerRoster roster = roll_of(3);
  roster.counts = {5, 2, 4};
  policy.asked(roster, 2, at_ms(0));
  policy.asked(roster, 0, at_ms(0));
  const auto decision = policy.asked(roster, 1, at_ms(0));
  ASSERT_EQ(decision.groups.size(), 1U);
  EXPECT_EQ(decision.groups[0].weights, (std::vector<double>{1, 0.25, 0.5}));
}

// Workers that always come together, `size` of them at once, and others that always come apart from them.
class Flocks {
 public:
  Flocks(const Group& first, const Group& second, std::size_t size)
      : roster(roll_of(static_cast<int>(first.size() + second.size()))),
        policy(rules_of(size)),
        first_(first),
        second_(second),
        size_(size) {}

  // `size` workers of a flock come in one instant; then none comes for longer than a window.
  Groups come(const Group& flock, std::size_t turn) {
    Groups groups;
    const auto add = [&](const GroupPolicy::Decision& decision) {
      for (Group& group : groups_of(decision)) {
        forget(group);
        groups.push_back(std::move(group));
      }
      forget(decision.alone);
    };
    for (std::size_t i = 0; i < size_; ++i) {
      const Rank who = flock[(turn + i) % flock.size()];
      if (has(waiting, who)) continue;
      waiting.push_back(who);
      add(policy.asked(roster, who, at_ms(now)));
    }
    now += 5;
    add(policy.look(roster, at_ms(now)));
    return groups;
  }

  void come_in_turns(std::uint64_t groups) {
    for (std::uint64_t i = 0; i < groups; i += 2) {
      come(first_, i);
      come(second_, i);
    }
  }

  bool mixed(const Group& group) const {
    const auto in_first = [&](Rank rank) { return has(first_, rank); };
    const auto of_first = std::count_if(group.begin(), group.end(), in_first);
    return of_first > 0 && of_first < static_cast<std::ptrdiff_t>(group.size());
  }

  WorkerRoster roster;
  ReadyGroups policy;
  Group waiting;
  int now = 0;

 private:
  void forget(const Group& group) {
    for (const Rank rank : group)
      waiting.erase(std::remove(waiting.begin(), waiting.end(), rank), waiting.end());
  }

  Group first_, second_;
  std::size_t size_;
};

// After 2 (n-1)/(k-1) groups one of the two waits until the other comes: two more groups at most.
TEST(ReadyGroups, TwoPairsThatAlwaysComeTogetherGetMixed) {
  for (const std::size_t size : {2, 3, 4}) {
    Group first, second;
    for (Rank rank = 0; rank < static_cast<Rank>(size); ++rank) {
      first.push_back(2 * rank);
      second.push_back(2 * rank + 1);
    }
    Flocks flocks(first, second, size);
    const std::uint64_t enough = (2 * (2 * size - 1) + size - 2) / (size - 1);
    std::uint64_t groups = 0;
    int mixed = 0;
    for (std::size_t turn = 0; groups < 20 * (enough + 2); ++turn) {
      for (const Group& group : flocks.come(turn % 2 == 0 ? first : second, turn)) {
        ++groups;
        if (flocks.mixed(group)) ++mixed;
      }
      ASSERT_GE(static_cast<std::uint64_t>(mixed + 1) * (enough + 2), groups) << "groups of " << size;
    }
    EXPECT_GE(mixed, 19);
  }
}

TEST(ReadyGroups, TheManyNeverWaitForTheFew) {
  const Group many{0, 1, 2, 3, 4}, few{5, 6};
  Flocks flocks(many, few, 2);
  flocks.come_in_turns(40);
  for (std::size_t turn = 0; turn < 20; ++turn) {
    flocks.come(many, turn);
    for (const Rank rank : many) EXPECT_FALSE(has(flocks.waiting, rank));
    flocks.come(few, turn);
  }
}

// They wait until one of the many comes, or so many of them have left that they are not the many.
TEST(ReadyGroups, TheFewWaitBeyondTheirWindow) {
  const Group many{0, 1, 2}, few{3, 4};
  for (const bool they_leave : {false, true}) {
    Flocks flocks(many, few, 2);
    flocks.come_in_turns(8);
    ReadyGroups& policy = flocks.policy;
    WorkerRoster& roster = flocks.roster;
    EXPECT_TRUE(flocks.come(few, 0).empty());
    EXPECT_TRUE(policy.look(roster, at_ms(1'000'000)).groups.empty());
    if (!they_leave) {
      const auto decision = policy.asked(roster, 1, at_ms(1'000'000));
      EXPECT_EQ(groups_of(decision), (Groups{{1, 3}}));
      EXPECT_EQ(decision.alone, Group{4});
      continue;
    }
    for (const Rank rank : {0, 1}) {
      roster.present.erase(rank);
      policy.gone(rank);
    }
    EXPECT_EQ(groups_of(policy.look(roster, at_ms(1'000'001))), (Groups{{3, 4}}));
  }
}

}  // namespace
}  // namespace starling::coordination
