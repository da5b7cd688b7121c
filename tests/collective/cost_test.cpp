#include "starling/collective/cost.h"

#include <gtest/gtest.h>

#include <vector>

#include "starling/collective/select.h"
#include "tests/collective/calls.h"
#include "tests/collective/data.h"
#include "tests/support/virtual_ranks.h"

namespace starling::collective {
namespace {

using testing::everyone;
using testing::kByMessages;
using testing::perform;
using testing::vector_of;
using testing::VirtualRanks;

constexpr Collective kCollectives[] = {Collective::kAllReduce, Collective::kReduceScatter,
                                       Collective::kAllGather, Collective::kBroadcast,
                                       Collective::kGather,    Collective::kBarrier};

void run(VirtualRanks& ranks, const Call& call, Reduction how = Reduction::sum()) {
  const Group group = everyone(ranks.size());
  std::vector<std::vector<float>> values(group.size(), std::vector<float>(call.count, 1.0f));
  ranks.run_all(
      [&](Rank rank, Transport& net) { return perform(call, net, group, 0, vector_of(values, rank), how); });
}

std::string label(const Call& call) {
  return concat("collective ", static_cast<int>(call.kind), " by ", name_of(call.algorithm), ", ",
                call.members, " members, ", call.count, " elements");
}

TEST(Cost, CountedTrafficEqualsTheFormula) {
  for (std::size_t members = 1; members <= 17; ++members) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, members - 1, members, members + 1,
                                    std::size_t{100}, std::size_t{1000}}) {
      for (const Collective kind : kCollectives) {
        for (const Algorithm algorithm : kByMessages) {
          const Call call{kind, algorithm, members, count, 4};
          VirtualRanks ranks(static_cast<int>(members));
          run(ranks, call);
          for (std::size_t member = 0; member < members; ++member) {
            const transport::Traffic traffic = ranks.at(static_cast<Rank>(member)).traffic();
            const Cost cost = cost_of(call, member);
            ASSERT_EQ(traffic.messages, cost.messages) << label(call) << ", member " << member;
            ASSERT_EQ(traffic.bytes, cost.bytes) << label(call) << ", member " << member;
          }
        }
      }
    }
  }
}

TEST(Cost, VirtualTimeEqualsTheFormula) {
  VirtualRanks::Link link;
  link.alpha = std::chrono::microseconds(50);
  link.seconds_per_byte = 0.8e-9;
  for (std::size_t members = 1; members <= 17; ++members) {
    for (const Collective kind : kCollectives) {
      for (const Algorithm algorithm : kByMessages) {
        const Call call{kind, algorithm, members, members * 16 * 50, 4};
        VirtualRanks ranks(static_cast<int>(members), link);
        run(ranks, call);
        const double expected = time_of(call, 50e-6, 0.8e-9);
        EXPECT_NEAR(ranks.seconds(), expected, expected * 1e-3) << label(call);
      }
    }
  }
}

TEST(Cost, AWeightedMeanAddsAGatherOfTheWeights) {
  for (std::size_t members = 2; members <= 9; ++members) {
    const Call call{Collective::kAllReduce, Algorithm::kRing, members, 100, 4};
    const Call weights{Collective::kAllGather, Algorithm::kDoubling, members, members, sizeof(double)};
    VirtualRanks ranks(static_cast<int>(members));
    run(ranks, call, Reduction::weighted_mean(0.5));
    for (std::size_t member = 0; member < members; ++member) {
      EXPECT_EQ(ranks.at(static_cast<Rank>(member)).traffic().bytes,
                cost_of(call, member).bytes + cost_of(weights, member).bytes);
    }
  }
}

TEST(Cost, TheRingSendsTheLeastPossible) {
  const Call call{Collective::kAllReduce, Algorithm::kRing, 8, 8000, 4};
  const Cost cost = cost_of(call, 3);
  EXPECT_EQ(cost.steps, 14u);
  EXPECT_EQ(cost.messages, 14u);
  EXPECT_EQ(cost.bytes, 2u * 7 * 8000 * 4 / 8);
}

}  // namespace
}  // namespace starling::collective
