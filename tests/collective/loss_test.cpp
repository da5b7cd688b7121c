// A member dies at any moment: nobody waits forever, and whoever is told holds what it had.
#include <gtest/gtest.h>

#include <vector>

#include "starling/collective/collective.h"
#include "starling/collective/select.h"
#include "starling/core/error.h"
#include "tests/collective/calls.h"
#include "tests/collective/data.h"
#include "tests/support/virtual_ranks.h"

namespace starling::collective {
namespace {

using testing::element_of;
using testing::everyone;
using testing::kByMessages;
using testing::vector_of;
using testing::Vectors;
using testing::VirtualRanks;

constexpr std::size_t kLossCount = 11;

Vectors start_values(int members) {
  Vectors values(static_cast<std::size_t>(members), std::vector<float>(kLossCount));
  for (std::size_t member = 0; member < values.size(); ++member) {
    for (std::size_t at = 0; at < kLossCount; ++at)
      values[member][at] = static_cast<float>(100 * member + at);
  }
  return values;
}

VirtualRanks::Link slow_link() {
  VirtualRanks::Link link;
  link.alpha = std::chrono::microseconds(50);
  link.seconds_per_byte = 1e-9;
  return link;
}

// Runs the call on all ranks once per event of its life, with `victim` killed at that event. check(before,
// after, lost) sees the data of each survivor. Returns how many survivors got the error.
template <class MakeTask, class Check>
int kill_at_every_event(int members, Rank victim, std::uint64_t seed, const MakeTask& make,
                        const Check& check) {
  int told = 0;
  const Vectors before = start_values(members);
  for (std::uint64_t event = 0;; ++event) {
    Vectors values = before;
    VirtualRanks ranks(members, slow_link(), seed);
    for (Rank rank = 0; rank < members; ++rank) {
      ranks.start(rank, make(ranks.at(rank), vector_of(values, rank)));
    }
    ranks.kill_at(event, victim);
    ranks.run();
    for (Rank rank = 0; rank < members; ++rank) {
      if (rank == victim) continue;
      const auto at = static_cast<std::size_t>(rank);
      const bool lost = ranks.error(rank) != nullptr;
      if (lost) {
        ++told;
        EXPECT_THROW(std::rethrow_exception(ranks.error(rank)), PeerLost);
      }
      check(before[at], values[at], lost);
    }
    if (!ranks.killed(victim)) return told;
  }
}

std::vector<float> sums(int members) {
  std::vector<float> result(kLossCount);
  for (const auto& vector : start_values(members)) {
    for (std::size_t at = 0; at < kLossCount; ++at) result[at] += vector[at];
  }
  return result;
}

TEST(Loss, AnAllReduceIsAllOrNothing) {
  for (const Algorithm algorithm : kByMessages) {
    for (const int members : {2, 3, 4, 7}) {
      const Group group = everyone(members);
      const std::vector<float> expected = sums(members);
      for (Rank victim = 0; victim < members; ++victim) {
        const int told = kill_at_every_event(
            members, victim, static_cast<std::uint64_t>(victim),
            [&](Transport& net, Data data) {
              return all_reduce(net, group, data, Reduction::sum(), 1, algorithm);
            },
            [&](const auto& before, const auto& after, bool lost) {
              EXPECT_EQ(after, lost ? before : expected);
            });
        EXPECT_GT(told, 0);
      }
    }
  }
}

TEST(Loss, AFailedReduceScatterChangesNothing) {
  for (const Algorithm algorithm : kByMessages) {
    for (const int members : {3, 4, 6}) {
      const Group group = everyone(members);
      kill_at_every_event(
          members, 1, 7,
          [&](Transport& net, Data data) {
            return reduce_scatter(net, group, data, Reduction::weighted_mean(0.5), 1, algorithm);
          },
          [&](const auto& before, const auto& after, bool lost) { EXPECT_TRUE(!lost || after == before); });
    }
  }
}

TEST(Loss, NobodyWaitsForeverInTheOthers) {
  const auto any = [](const auto&, const auto&, bool) {};
  for (const int members : {2, 6}) {
    const Group group = everyone(members);
    for (Rank victim = 0; victim < members; ++victim) {
      for (const Algorithm algorithm : kByMessages) {
        kill_at_every_event(
            members, victim, 1,
            [&](Transport& net, Data data) { return all_gather(net, group, data, 1, algorithm); }, any);
      }
      kill_at_every_event(
          members, victim, 2,
          [&](Transport& net, Data data) { return broadcast(net, group, members / 2, data, 1); }, any);
      kill_at_every_event(
          members, victim, 3, [&](Transport& net, Data data) { return gather(net, group, 0, data, 1); }, any);
      kill_at_every_event(
          members, victim, 4, [&](Transport& net, Data) { return barrier(net, group, 1); }, any);
    }
  }
}

TEST(Loss, OthersLossesDoNotDisturb) {
  const Group group = {0, 2, 3};
  std::vector<float> values = {1, 2, 3, 4, 5};
  VirtualRanks ranks(5, slow_link());
  for (const Rank rank : group) {
    ranks.start(rank, all_reduce(ranks.at(rank), group, element_of(values, rank), Reduction::sum(), 1));
  }
  ranks.kill_at(5, 4);
  ranks.run();
  EXPECT_TRUE(ranks.killed(4));
  EXPECT_EQ(values, (std::vector<float>{8, 2, 8, 8, 5}));
}

TEST(Loss, ALostMemberIsNoticedBeforeAnythingIsSent) {
  float value = 1;
  VirtualRanks ranks(3);
  ranks.world().lose(2, "gone");
  ranks.start(0,
              all_reduce(ranks.at(0), everyone(3), Data(std::span<float>(&value, 1)), Reduction::sum(), 1));
  ranks.run();
  EXPECT_THROW(std::rethrow_exception(ranks.error(0)), PeerLost);
  EXPECT_EQ(ranks.at(0).traffic().messages, 0u);
}

}  // namespace
}  // namespace starling::collective
