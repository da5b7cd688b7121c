// Workers and their generators on virtual time, some of which die: the others make all their rounds. A
// deadlock throws with the list of waits.
#include "starling/coordination/group_generator.h"

#include <gtest/gtest.h>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "tests/support/group_ranks.h"

namespace starling::coordination {
namespace {

using Kind = GroupRules::Kind;
using runtime::Task;
using testing::GroupRanks;

GroupRanks::Options random_setting(Kind kind, std::uint64_t seed) {
  Random random(seed);
  GroupRanks::Options setting;
  setting.seed = seed;
  const int workers = random.between(2, 6), hosts = random.between(1, 3);
  for (int worker = 0; worker < workers; ++worker) setting.host_of.push_back(random.between(0, hosts - 1));
  setting.rules.kind = kind;
  setting.rules.size = static_cast<std::size_t>(random.between(2, 4));
  setting.rules.by_host = random.chance(0.5);
  setting.rules.weigh_staleness = random.chance(0.5);
  setting.link.alpha = std::chrono::microseconds(random.between(0, 2) * random.between(0, 2000));
  if (random.chance(0.5)) setting.latest = std::chrono::microseconds(random.between(0, 4000));
  return setting;
}

// Workers of unequal speed that make some rounds and leave.
class Rounds {
 public:
  Rounds(Kind kind, std::uint64_t seed) : groups(random_setting(kind, seed)), random_(seed + 1'000'000) {
    const int workers = groups.ranks().size();
    rounds = random_.between(1, 6);
    made.assign(static_cast<std::size_t>(workers), 0);
    for (Rank rank = 0; rank < workers; ++rank) {
      const Duration longest = std::chrono::microseconds(random_.between(0, 3) * 1000);
      groups.ranks().start(rank, work(rank, longest, random_.fork(static_cast<std::uint64_t>(rank))));
    }
  }

  // Errors throw; returns the number of events.
  std::uint64_t run() {
    groups.ranks().run();
    for (Rank rank = 0; rank < groups.ranks().size(); ++rank) {
      if (groups.ranks().killed(rank)) continue;
      if (groups.ranks().error(rank)) std::rethrow_exception(groups.ranks().error(rank));
      EXPECT_EQ(made[static_cast<std::size_t>(rank)], rounds) << "rank " << rank;
    }
    return groups.ranks().scheduler().events();
  }

  GroupRanks groups;
  int rounds = 0;
  std::vector<int> made;  // rounds, by rank

 private:
  Task<> work(Rank rank, Duration longest, Random random) {
    while (made[static_cast<std::size_t>(rank)] < rounds) {
      co_await runtime::sleep_for(
          Duration(static_cast<Duration::rep>(random.uniform() * static_cast<double>(longest.count()))));
      co_await groups.synchronise(rank);
      ++made[static_cast<std::size_t>(rank)];
    }
    co_await groups.leave(rank);
  }

  Random random_;
};

class GroupGeneratorTest : public ::testing::TestWithParam<Kind> {};

std::string name_of(const ::testing::TestParamInfo<Kind>& info) {
  switch (info.param) {
    case Kind::kStatic:
      return "Static";
    case Kind::kRandom:
      return "Random";
    case Kind::kSmart:
      return "Smart";
    case Kind::kReady:
      return "Ready";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Policies, GroupGeneratorTest,
                         ::testing::Values(Kind::kStatic, Kind::kRandom, Kind::kSmart, Kind::kReady),
                         name_of);

// Runs in which the seed decides which workers die when; names a seed that fails.
template <class Death>
void run_with(Kind kind, std::uint64_t seed, const Death& death) {
  SCOPED_TRACE(concat("seed ", seed));
  const std::uint64_t events = Rounds(kind, seed).run();
  Rounds rounds(kind, seed);
  Random random(seed + 2'000'000);
  death(rounds, random, events);
  try {
    rounds.run();
  } catch (const std::exception& error) {
    FAIL() << error.what();
  }
}

std::uint64_t some_event(Random& random, std::uint64_t events) { return random.below(events + 1); }

TEST_P(GroupGeneratorTest, AnyRankDiesAtAnyTime) {
  for (std::uint64_t seed = 1; seed <= 1000 && !HasFatalFailure(); ++seed) {
    run_with(GetParam(), seed, [](Rounds& rounds, Random& random, std::uint64_t events) {
      testing::VirtualRanks& ranks = rounds.groups.ranks();
      ranks.kill_at(some_event(random, events), random.between(0, ranks.size() - 1));
    });
  }
}

TEST_P(GroupGeneratorTest, TheGeneratorsRankDies) {
  for (std::uint64_t seed = 2001; seed <= 2500 && !HasFatalFailure(); ++seed) {
    run_with(GetParam(), seed, [](Rounds& rounds, Random& random, std::uint64_t events) {
      rounds.groups.ranks().kill_at(some_event(random, events), 0);
    });
  }
}

// Kills the first member of a group, which reports that it is finished, as soon as any member begins to run
// it.
TEST_P(GroupGeneratorTest, TheFirstOfAGroupDiesAsItBegins) {
  for (std::uint64_t seed = 3001; seed <= 3500 && !HasFatalFailure(); ++seed) {
    run_with(GetParam(), seed, [](Rounds& rounds, Random& random, std::uint64_t) {
      auto& ranks = rounds.groups.ranks();
      rounds.groups.meets = [&ranks, left = random.between(0, 10)](Rank, const GroupTurn& meeting) mutable {
        if (left-- == 0) ranks.kill_at(0, meeting.group.front());
      };
    });
  }
}

// The second death falls into the census that the first one causes, or into its aftermath.
TEST_P(GroupGeneratorTest, TwoDieShortlyAfterOneAnother) {
  for (std::uint64_t seed = 4001; seed <= 4500 && !HasFatalFailure(); ++seed) {
    run_with(GetParam(), seed, [](Rounds& rounds, Random& random, std::uint64_t events) {
      auto& ranks = rounds.groups.ranks();
      const std::uint64_t first = some_event(random, events);
      ranks.kill_at(first, random.chance(0.5) ? 0 : random.between(0, ranks.size() - 1));
      ranks.kill_at(first + random.below(40), random.between(0, ranks.size() - 1));
    });
  }
}

// Down to the last.
TEST_P(GroupGeneratorTest, AllButOneDie) {
  for (std::uint64_t seed = 5001; seed <= 5200 && !HasFatalFailure(); ++seed) {
    run_with(GetParam(), seed, [](Rounds& rounds, Random& random, std::uint64_t events) {
      auto& ranks = rounds.groups.ranks();
      const Rank survivor = random.between(0, ranks.size() - 1);
      for (Rank rank = 0; rank < ranks.size(); ++rank) {
        if (rank != survivor) ranks.kill_at(some_event(random, events), rank);
      }
    });
  }
}

// Rank 0 while it lives, then rank 1, and so on.
TEST(GroupGenerator, OnlyTheLowestLivingIsAtWork) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Rounds rounds(Kind::kSmart, seed);
    testing::VirtualRanks& ranks = rounds.groups.ranks();
    ranks.kill_at(0, 0);
    rounds.run();
    for (Rank rank = 0; rank < ranks.size(); ++rank) {
      const bool serves = rank == 1 && ranks.size() > 2;
      const GroupTable::Tally& tally = rounds.groups.served(rank).tally;
      EXPECT_EQ(tally.requests + tally.groups > 0, serves) << "seed " << seed;
      EXPECT_EQ(rounds.groups.served(rank).censuses, serves ? 1U : 0U) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace starling::coordination
