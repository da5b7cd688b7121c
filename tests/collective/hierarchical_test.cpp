#include "starling/collective/hierarchical.h"

#include <gtest/gtest.h>

#include <numeric>

#include "starling/collective/select.h"
#include "starling/core/error.h"
#include "starling/core/partition.h"
#include "tests/support/virtual_ranks.h"

namespace starling::collective {
namespace {

using testing::VirtualRanks;
using Hosts = std::vector<int>;

const Hosts kLayouts[] = {{0, 0, 1, 1},       {0, 1, 0, 1},          {0, 0, 0, 1},      {0, 0, 1, 1, 1, 2},
                          {2, 0, 1, 0, 2, 1}, {0, 0, 1, 2, 3, 3, 3}, {5, 5, 5, 5, 7, 7}};

Group everyone(std::size_t ranks) {
  Group group(ranks);
  std::iota(group.begin(), group.end(), 0);
  return group;
}

double start_value(Rank rank, std::size_t i) {
  return (rank + 1) * 0.37 + static_cast<double>(i % 1009) * 0.11;
}

using Models = std::vector<std::vector<float>>;

Models models_of(std::size_t ranks, std::size_t count) {
  Models models(ranks, std::vector<float>(count));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < count; ++i)
      models[rank][i] = static_cast<float>(start_value(static_cast<Rank>(rank), i));
  }
  return models;
}

void place(VirtualRanks& ranks, const Hosts& hosts) {
  const auto shared = std::make_shared<const Hosts>(hosts);
  for (Rank rank = 0; rank < ranks.size(); ++rank) ranks.at(rank).set_hosts(shared);
}

Models reduce(const Hosts& hosts, std::size_t count, Reduction::Kind kind) {
  VirtualRanks ranks(static_cast<int>(hosts.size()), {std::chrono::microseconds(5), 1e-9}, 3);
  place(ranks, hosts);
  Models models = models_of(hosts.size(), count);
  ranks.run_all([&](Rank rank, Transport& net) {
    const Reduction how{kind, static_cast<double>(rank + 1)};
    return all_reduce(net, everyone(hosts.size()), std::span(models[static_cast<std::size_t>(rank)]), how, 9,
                      Algorithm::kHierarchical);
  });
  return models;
}

double expected(std::size_t ranks, std::size_t i, Reduction::Kind kind) {
  double sum = 0, weights = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const double weight = kind == Reduction::Kind::kWeightedMean ? static_cast<double>(rank + 1) : 1;
    sum += weight * start_value(static_cast<Rank>(rank), i);
    weights += weight;
  }
  if (kind == Reduction::Kind::kSum) return sum;
  if (kind == Reduction::Kind::kMin) return start_value(0, i);
  if (kind == Reduction::Kind::kMax) return start_value(static_cast<Rank>(ranks) - 1, i);
  return sum / weights;
}

TEST(Hierarchical, EverybodyHasTheSameReduction) {
  using Kind = Reduction::Kind;
  for (const Hosts& hosts : kLayouts) {
    for (const Kind kind : {Kind::kSum, Kind::kMean, Kind::kWeightedMean, Kind::kMin, Kind::kMax}) {
      for (const std::size_t count : {0, 1, 3, 17, 1000}) {
        SCOPED_TRACE(concat("hosts ", join_texts(hosts), ", ", count, " elements"));
        const Models found = reduce(hosts, count, kind);
        for (std::size_t i = 0; i < count; ++i)
          EXPECT_NEAR(found[0][i], expected(hosts.size(), i, kind), 1e-3);
        for (const auto& model : found) EXPECT_EQ(model, found[0]);
      }
    }
  }
}

TEST(Hierarchical, TheHalvesAreTheHalves) {
  for (const Hosts& hosts :
       {Hosts{0, 0, 1, 1}, Hosts{0, 0, 0, 1}, Hosts{0, 0, 1, 1, 1, 2}, Hosts{0, 1, 0, 1}}) {
    for (const std::size_t count : {0, 1, 5, 10, 1001}) {
      SCOPED_TRACE(concat("hosts ", join_texts(hosts), ", ", count, " elements"));
      const std::size_t members = hosts.size();
      const Models whole = reduce(hosts, count, Reduction::Kind::kMean);
      VirtualRanks ranks(static_cast<int>(members), {std::chrono::microseconds(5), 1e-9}, 3);
      place(ranks, hosts);
      Models models = models_of(members, count);
      const Models before = models;
      ranks.run_all([&](Rank rank, Transport& net) {
        return reduce_scatter(net, everyone(members), std::span(models[static_cast<std::size_t>(rank)]),
                              Reduction::mean(), 9, Algorithm::kHierarchical);
      });
      for (std::size_t member = 0; member < members; ++member) {
        const Slice own = slice_of(count, members, member);
        for (std::size_t i = 0; i < count; ++i) {
          if (i >= own.begin && i < own.end) {
            EXPECT_NEAR(models[member][i], whole[0][i], 1e-4);
          } else {
            EXPECT_EQ(models[member][i], before[member][i]);
          }
        }
      }
      const Models reduced = models;
      ranks.run_all([&](Rank rank, Transport& net) {
        return all_gather(net, everyone(members), std::span(models[static_cast<std::size_t>(rank)]), 10,
                          Algorithm::kHierarchical);
      });
      for (std::size_t member = 0; member < members; ++member) {
        const Slice own = slice_of(count, members, member);
        for (std::size_t i = own.begin; i < own.end; ++i) EXPECT_EQ(models[0][i], reduced[member][i]);
        EXPECT_EQ(models[member], models[0]);
      }
    }
  }
}

TEST(Hierarchical, ABroadcastReachesEverybodyFromAnybody) {
  for (const Hosts& hosts : kLayouts) {
    for (std::size_t root = 0; root < hosts.size(); ++root) {
      VirtualRanks ranks(static_cast<int>(hosts.size()), {std::chrono::microseconds(5), 1e-9}, 3);
      place(ranks, hosts);
      Models models = models_of(hosts.size(), 101);
      const std::vector<float> sent = models[root];
      ranks.run_all([&](Rank rank, Transport& net) {
        return broadcast(net, everyone(hosts.size()), static_cast<Rank>(root),
                         std::span(models[static_cast<std::size_t>(rank)]), 9, Algorithm::kHierarchical);
      });
      for (const auto& model : models)
        EXPECT_EQ(model, sent) << "from " << root << " on hosts " << join_texts(hosts);
    }
  }
}

// Large ones go along a row of hosts.
TEST(Hierarchical, ALongBroadcastReachesEverybody) {
  const Hosts hosts{0, 0, 1, 2, 2, 1};
  for (const std::size_t root : {0, 2, 4}) {
    VirtualRanks ranks(6, {std::chrono::microseconds(5), 1e-9}, 3);
    place(ranks, hosts);
    Models models = models_of(6, 500'001);
    const std::vector<float> sent = models[root];
    ranks.run_all([&](Rank rank, Transport& net) {
      return broadcast(net, everyone(6), static_cast<Rank>(root),
                       std::span(models[static_cast<std::size_t>(rank)]), 9, Algorithm::kHierarchical);
    });
    for (const auto& model : models) EXPECT_EQ(model, sent) << "from " << root;
  }
}

TEST(Hierarchical, ManyChunksAreUnderWayAtOnce) {
  const Hosts hosts{0, 0, 1, 1};
  const std::size_t count = 2'000'003;  // 8 MB: sixteen chunks, eight of them in progress
  const Models found = reduce(hosts, count, Reduction::Kind::kSum);
  for (std::size_t i = 0; i < count; i += 997)
    EXPECT_NEAR(found[0][i], expected(4, i, Reduction::Kind::kSum), 1e-2);
  for (const auto& model : found) EXPECT_EQ(model, found[0]);
}

// Whichever member dies at whatever time: a member that fails has its old data, and one that does not has the
// result.
TEST(Hierarchical, ADeathLeavesOldDataOrTheResult) {
  const Hosts hosts{0, 0, 1, 1, 1};
  const std::size_t count = 100;
  const Models whole = reduce(hosts, count, Reduction::Kind::kSum);
  int failed = 0;
  for (std::uint64_t event = 1; event < 160; event += 3) {
    for (const Rank victim : {0, 3}) {
      VirtualRanks ranks(5, {std::chrono::microseconds(5), 1e-9}, event);
      place(ranks, hosts);
      Models models = models_of(5, count);
      const Models before = models;
      for (Rank rank = 0; rank < 5; ++rank) {
        ranks.start(rank,
                    all_reduce(ranks.at(rank), everyone(5), std::span(models[static_cast<std::size_t>(rank)]),
                               Reduction::sum(), 9, Algorithm::kHierarchical));
      }
      ranks.kill_at(event, victim);
      ranks.run();
      for (Rank rank = 0; rank < 5; ++rank) {
        const auto index = static_cast<std::size_t>(rank);
        if (rank == victim) continue;
        EXPECT_EQ(models[index], ranks.error(rank) ? before[index] : whole[index]) << "event " << event;
        failed += ranks.error(rank) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(failed, 20);
}

TEST(Hierarchical, IsChosenForGroupsOnSeveralHosts) {
  VirtualRanks ranks(12);
  EXPECT_FALSE(hierarchical_suits(ranks.at(0), everyone(12))) << "nobody has said where they are";
  place(ranks, {0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9});
  Transport& net = ranks.at(1);
  EXPECT_TRUE(hierarchical_suits(net, everyone(12)));
  EXPECT_TRUE(hierarchical_suits(net, {1, 2})) << "one on each host, and they are few";
  EXPECT_FALSE(hierarchical_suits(net, {1, 2, 3, 4, 5, 6, 7, 8, 9})) << "they are many";
  EXPECT_FALSE(hierarchical_suits(net, {0, 1})) << "all on one";
  EXPECT_EQ(choose(net, everyone(12), 1 << 20, {}), Algorithm::kHierarchical);
  EXPECT_EQ(choose(net, everyone(12), 1000, {}), Algorithm::kDoubling);
  EXPECT_EQ(choose(net, {0, 1}, 1 << 20, Algorithm::kHierarchical), Algorithm::kHalving);
}

// Each host sends 2 (h-1)/h M to the others, shared by its members.
TEST(Hierarchical, HostsSendTheLeastThatIsPossible) {
  const Hosts hosts{0, 0, 0, 1, 1, 1};
  VirtualRanks ranks(6, {std::chrono::microseconds(5), 1e-9});
  place(ranks, hosts);
  std::vector<std::vector<float>> models(6, std::vector<float>(600));
  ranks.run_all([&](Rank rank, Transport& net) {
    return all_reduce(net, everyone(6), std::span(models[static_cast<std::size_t>(rank)]), Reduction::sum(),
                      1, Algorithm::kHierarchical);
  });
  // Within the host the members pass on 2 (l-1)/l M by the ring, between hosts each sends 2 (h-1)/h M/l.
  const std::uint64_t model = 600 * sizeof(float);
  for (Rank rank = 0; rank < 6; ++rank)
    EXPECT_EQ(ranks.at(rank).traffic().bytes, 2 * model * 2 / 3 + 2 * model / 2 / 3);
}

}  // namespace
}  // namespace starling::collective
