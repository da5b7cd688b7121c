#include "starling/coordination/matchings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "starling/core/error.h"
#include "starling/core/random.h"

namespace starling::coordination {
namespace {

int most_links(const Graph& graph) {
  int most = 0;
  for (Rank rank = 0; rank < graph.size(); ++rank) most = std::max(most, graph.degree(rank));
  return most;
}

// Every edge once, no rank twice in a matching, at most one matching more than some rank has links.
std::vector<Matching> checked_matchings(const Graph& graph, const std::string& label) {
  std::vector<Edge> edges;
  std::vector<Matching> matchings = disjoint_matchings(graph);
  for (const Matching& matching : matchings) {
    Group ranks;
    for (const auto& [a, b] : matching) ranks.insert(ranks.end(), {a, b});
    std::ranges::sort(ranks);
    EXPECT_EQ(std::ranges::adjacent_find(ranks), ranks.end()) << label;
    EXPECT_FALSE(matching.empty()) << label;
    EXPECT_TRUE(std::ranges::is_sorted(matching)) << label;
    edges.insert(edges.end(), matching.begin(), matching.end());
  }
  std::ranges::sort(edges);
  EXPECT_EQ(edges, graph.edges()) << label;
  EXPECT_LE(static_cast<int>(matchings.size()), most_links(graph) + 1) << label;
  EXPECT_EQ(matchings, disjoint_matchings(graph)) << label;
  return matchings;
}

std::size_t count_of(const std::string& name, int n) {
  return checked_matchings(make_graph(name, n), concat(name, " of ", n)).size();
}

// Each edge with this probability; between even and odd ranks only, if so asked.
Graph random_edges(Random& random, int n, double probability, bool bipartite) {
  std::vector<Edge> edges;
  for (Rank b = 0; b < n; ++b) {
    for (Rank a = 0; a < b; ++a) {
      if (bipartite && (a + b) % 2 == 0) continue;
      if (random.chance(probability)) edges.emplace_back(a, b);
    }
  }
  return {n, edges};
}

TEST(Matchings, OfGraphsWithKnownNumbers) {
  EXPECT_EQ(count_of("ring", 1), 0U);
  EXPECT_EQ(count_of("ring", 2), 1U);
  EXPECT_EQ(count_of("ring", 8), 2U);
  EXPECT_EQ(count_of("ring", 9), 3U);
  EXPECT_EQ(count_of("torus", 16), 4U);
  EXPECT_EQ(count_of("torus", 24), 4U);
  EXPECT_EQ(count_of("torus", 15), 5U);  // 30 edges, of which a matching of 15 ranks has 7 at most
  EXPECT_EQ(count_of("exponential", 16), 7U);
  EXPECT_EQ(count_of("exponential", 64), 11U);
  for (int n = 3; n <= 23; n += 2) EXPECT_EQ(count_of("complete", n), n + 0U) << n;
  for (int bits = 0; bits <= 6; ++bits) EXPECT_EQ(count_of("hypercube", 1 << bits), bits + 0U) << bits;
}

TEST(Matchings, OfEvenNumbersOfRanksAreAsManyAsLinks) {
  for (int n = 2; n <= 64; n += 2) {
    for (const std::string name : {"ring", "torus", "exponential", "complete"}) {
      EXPECT_EQ(static_cast<int>(count_of(name, n)), most_links(make_graph(name, n))) << name << " of " << n;
    }
  }
}

TEST(Matchings, OfLargeGraphs) {
  EXPECT_EQ(count_of("complete", 64), 63U);
  EXPECT_EQ(count_of("exponential", 256), 15U);
  EXPECT_EQ(count_of("ring", 1000), 2U);
}

TEST(Matchings, OfAnEightRingAlternate) {
  const std::vector<Matching> expected{{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, {{0, 7}, {1, 2}, {3, 4}, {5, 6}}};
  EXPECT_EQ(disjoint_matchings(ring_graph(8)), expected);
}

// Five ranks in a ring, five in a star within it: three links each, but not three matchings.
TEST(Matchings, OfThePetersenGraphAreFour) {
  const Graph petersen(10, {{0, 1},
                            {1, 2},
                            {2, 3},
                            {3, 4},
                            {4, 0},
                            {0, 5},
                            {1, 6},
                            {2, 7},
                            {3, 8},
                            {4, 9},
                            {5, 7},
                            {7, 9},
                            {9, 6},
                            {6, 8},
                            {8, 5}});
  EXPECT_EQ(checked_matchings(petersen, "Petersen").size(), 4U);
}

TEST(Matchings, OfRandomGraphs) {
  int more_than_links = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const Graph graph = random_edges(random, random.between(1, 24), random.uniform(), false);
    const auto matchings = checked_matchings(graph, concat("seed ", seed));
    if (static_cast<int>(matchings.size()) > most_links(graph)) ++more_than_links;
  }
  EXPECT_LT(more_than_links, 50);  // nearly all of them have too many edges for fewer
}

TEST(Matchings, OfBipartiteGraphsAreAsManyAsLinks) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const Graph graph = random_edges(random, random.between(1, 40), random.uniform(), true);
    EXPECT_EQ(static_cast<int>(checked_matchings(graph, concat("seed ", seed)).size()), most_links(graph));
  }
}

// Complete graphs of an odd number of ranks without some edges, for which only the way of Misra and Gries is
// left.
TEST(Matchings, OfDenseGraphsOfOddSize) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const int n = 2 * random.between(1, 10) + 1;
    checked_matchings(random_edges(random, n, 1 - random.uniform() / n, false), concat("seed ", seed));
  }
}

TEST(Matchings, OfAClosedGraph) {
  const Graph closed = without_lost(make_graph("exponential", 16), {3, 4, 11});
  for (const Matching& matching : checked_matchings(closed, "closed")) {
    for (const auto& [a, b] : matching)
      EXPECT_TRUE(a != 3 && b != 3 && a != 4 && b != 4 && a != 11 && b != 11);
  }
}

}  // namespace
}  // namespace starling::coordination
