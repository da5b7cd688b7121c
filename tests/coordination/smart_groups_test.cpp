#include "starling/coordination/smart_groups.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "tests/coordination/worker_rosters.h"

namespace starling::coordination {
namespace {

constexpr Time kNow(std::chrono::seconds(100));

// A roster and rules of any kind.
struct Case {
  explicit Case(std::uint64_t seed) : random(seed), roster(random_roll(random)) {
    rules.size = static_cast<std::size_t>(random.between(2, 5));
    rules.threshold = static_cast<std::uint64_t>(random.between(1, 6));
    rules.lateness = random.chance(0.3) ? 0 : random.uniform() * 3;
    rules.by_host = random.chance(0.5);
    who = random.between(0, static_cast<int>(roster.host_of.size()) - 1);
  }

  static WorkerRoster random_roll(Random& random) {
    std::vector<int> hosts(static_cast<std::size_t>(random.between(2, 16)));
    const int most = random.between(0, 3);
    for (int& host : hosts) host = random.between(0, most);
    WorkerRoster roster = roll_of(hosts);
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      roster.counts[i] = static_cast<std::uint64_t>(random.between(5, 12));
      roster.trainings[i].since = kNow - std::chrono::milliseconds(random.between(0, 4000));
      if (random.chance(0.8))
        roster.trainings[i].section = std::chrono::milliseconds(random.between(1, 4000));
      if (random.chance(0.3)) roster.idle.erase(static_cast<Rank>(i));
    }
    return roster;
  }

  // The rules as they are stated, once more.
  std::set<Rank> expected() const {
    std::set<Rank> invited{who};
    const double own = seconds_of(roster.training(who).section);
    for (const Rank rank : roster.idle.ranks()) {
      if (roster.count(who) >= roster.count(rank) + rules.threshold) continue;
      const WorkerRoster::Training& training = roster.training(rank);
      const bool known = rules.lateness > 0 && own > 0 && training.section > Duration(0);
      const double until = seconds_of(training.since + training.section - kNow);
      if (!known || std::fabs(until) <= rules.lateness * own) invited.insert(rank);
    }
    return invited;
  }

  Random random;
  WorkerRoster roster;
  SmartGroups::Rules rules;
  Rank who = 0;
};

TEST(SmartGroups, DivideThoseWhoAreInvited) {
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    SCOPED_TRACE(seed);
    Case test(seed);
    const auto decision = SmartGroups(test.rules, test.random).asked(test.roster, test.who, kNow);
    if (!test.roster.idle.has(test.who)) {  // it has a group already
      EXPECT_TRUE(decision.groups.empty() && decision.alone.empty());
      continue;
    }
    const std::set<Rank> expected = test.expected();
    std::set<Rank> found(decision.alone.begin(), decision.alone.end());
    std::size_t places = found.size();
    for (const Group& group : groups_of(decision)) {
      EXPECT_GE(group.size(), 2U);
      EXPECT_TRUE(std::is_sorted(group.begin(), group.end()));
      found.insert(group.begin(), group.end());
      places += group.size();
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(decision.alone.empty(), expected.size() > 1);
    if (!test.rules.by_host) {
      EXPECT_EQ(places, expected.size());  // each worker in one group
      for (const Group& group : groups_of(decision)) EXPECT_LT(group.size(), 2 * test.rules.size);
    }
  }
}

// Heads meet first, one of each host and each in one group, then the hosts' workers.
TEST(SmartGroups, BetweenHostsThenInside) {
  int several = 0;
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    SCOPED_TRACE(seed);
    Case test(seed);
    test.rules.by_host = true;
    std::map<int, std::set<Rank>> hosts;
    for (const Rank rank : test.expected()) hosts[test.roster.host(rank)].insert(rank);
    if (!test.roster.idle.has(test.who) || hosts.size() < 2) continue;
    ++several;
    std::map<int, int> heads;
    bool inside = false;
    const auto decision = SmartGroups(test.rules, test.random).asked(test.roster, test.who, kNow);
    for (const Group& group : groups_of(decision)) {
      std::set<int> here;
      for (const Rank rank : group) here.insert(test.roster.host(rank));
      if (here.size() == 1) {
        inside = true;
        EXPECT_EQ(std::set<Rank>(group.begin(), group.end()), hosts[*here.begin()]);
        continue;
      }
      EXPECT_FALSE(inside) << "heads meet before the hosts' workers";
      EXPECT_EQ(here.size(), group.size());
      for (const int host : here) ++heads[host];
    }
    EXPECT_EQ(heads.size(), hosts.size());
    for (const auto& [host, times] : heads) EXPECT_EQ(times, 1) << "host " << host;
  }
  EXPECT_GT(several, 500);
}

TEST(SmartGroups, EverybodyIsHeadInTurn) {
  SmartGroups policy({.size = 2}, Random(1));
  const WorkerRoster roster = roll_of({0, 0, 0, 0, 1, 1, 1, 1});
  std::map<Rank, int> heads;
  for (int i = 0; i < 8; ++i) {
    const Group between = groups_of(policy.asked(roster, 0, Time())).front();
    for (const Rank rank : between) ++heads[rank];
  }
  EXPECT_EQ(heads.size(), 8U);
  for (const auto& [rank, times] : heads) EXPECT_EQ(times, 2) << "rank " << rank;
}

TEST(SmartGroups, OneThatFallsBehindIsLeftOutUnlessItAsks) {
  SmartGroups policy({.size = 4, .threshold = 4, .lateness = 0, .by_host = false}, Random(1));
  WorkerRoster roster = roll_of(4);
  roster.counts = {10, 10, 7, 6};
  EXPECT_EQ(groups_of(policy.asked(roster, 0, Time())), (std::vector<Group>{{0, 1, 2}}));
  EXPECT_EQ(groups_of(policy.asked(roster, 3, Time())), (std::vector<Group>{{0, 1, 2, 3}}));
}

TEST(SmartGroups, OneThatIsNotDueIsLeftOutWhileItIsNot) {
  SmartGroups policy({.size = 4, .threshold = 100, .lateness = 1, .by_host = false}, Random(1));
  WorkerRoster roster = roll_of(3);
  const auto sections = {100, 100, 500};
  std::size_t rank = 0;
  for (const int ms : sections) roster.trainings[rank++].section = std::chrono::milliseconds(ms);
  const std::vector<Group> all{{0, 1, 2}}, without{{0, 1}};
  const auto ask_at = [&](int ms) {
    roster.trainings[1].since = at_ms(ms) - std::chrono::milliseconds(100);
    return groups_of(policy.asked(roster, 0, at_ms(ms)));
  };
  EXPECT_EQ(ask_at(100), without);
  EXPECT_EQ(ask_at(399), without);
  EXPECT_EQ(ask_at(400), all);  // it comes in the following section
  EXPECT_EQ(ask_at(600), all);
  EXPECT_EQ(ask_at(601), without);  // something is wrong with it
}

TEST(SmartGroups, OfWhomNothingIsKnownIsInvited) {
  SmartGroups policy({.size = 4, .by_host = false}, Random(1));
  WorkerRoster roster = roll_of(3);
  roster.trainings[0].section = std::chrono::milliseconds(1);
  EXPECT_EQ(groups_of(policy.asked(roster, 0, kNow)), (std::vector<Group>{{0, 1, 2}}));
}

}  // namespace
}  // namespace starling::coordination
