#include "starling/coordination/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "starling/core/error.h"
#include "starling/core/random.h"

namespace starling::coordination {
namespace {

using ::testing::HasSubstr;

template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const InvalidArgument& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "accepted";
}

std::string refusal_of(int n, const std::vector<Edge>& edges) {
  return refusal([&] { Graph(n, edges); });
}

TEST(Graph, SortsNeighboursAndEdges) {
  const Graph graph(5, {{3, 1}, {0, 3}, {4, 3}, {1, 0}});
  EXPECT_EQ(graph.size(), 5);
  EXPECT_EQ(graph.neighbours(3), (Group{0, 1, 4}));
  EXPECT_EQ(graph.degree(3), 3);
  EXPECT_EQ(graph.degree(2), 0);
  EXPECT_EQ(graph.edges(), (std::vector<Edge>{{0, 1}, {0, 3}, {1, 3}, {3, 4}}));
  EXPECT_FALSE(graph.connected());
  EXPECT_EQ(graph.unreached(), Group{2});
}

TEST(Graph, RefusesWhatIsNoSimpleGraph) {
  EXPECT_EQ(refusal_of(0, {}), "a graph of 0 ranks; allowed: 1 or more");
  EXPECT_EQ(refusal_of(3, {{0, 3}}), "edge 0 3; allowed: two different ranks from 0 to 2");
  EXPECT_THAT(refusal_of(3, {{-1, 0}}), HasSubstr("edge -1 0;"));
  EXPECT_THAT(refusal_of(3, {{1, 1}}), HasSubstr("edge 1 1;"));
  EXPECT_EQ(refusal_of(3, {{1, 2}, {2, 1}}), "edge 1 2 was given twice; allowed: once");
  EXPECT_THAT(refusal_of(3, {{0, 1}, {0, 1}}), HasSubstr("edge 0 1 was given twice"));
  EXPECT_EQ(refusal([] { Graph(3, {}).neighbours(3); }), "rank 3 is not in the graph; allowed: 0 to 2");
  EXPECT_THROW(Graph(3, {}).degree(-1), InvalidArgument);
}

TEST(Ring, JoinsBothSides) {
  EXPECT_TRUE(ring_graph(1).edges().empty());
  EXPECT_EQ(ring_graph(2).edges(), (std::vector<Edge>{{0, 1}}));
  EXPECT_EQ(ring_graph(5).neighbours(0), (Group{1, 4}));
  EXPECT_EQ(ring_graph(5).edges().size(), 5u);
}

TEST(Torus, TakesTheMostSquareSides) {
  EXPECT_EQ(torus_graph(12).neighbours(0), (Group{1, 3, 4, 8}));  // 3 rows of 4
  EXPECT_EQ(torus_graph(16).edges().size(), 32u);
  for (Rank rank = 0; rank < 16; ++rank) EXPECT_EQ(torus_graph(16).degree(rank), 4);
}

TEST(Torus, CollapsesShortSides) {
  EXPECT_TRUE(torus_graph(1).edges().empty());
  EXPECT_EQ(torus_graph(2).edges(), ring_graph(2).edges());
  EXPECT_EQ(torus_graph(4).edges(), (std::vector<Edge>{{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  EXPECT_EQ(torus_graph(8).neighbours(0), (Group{1, 3, 4}));  // 2 rows of 4
  EXPECT_EQ(torus_graph(7).edges(), ring_graph(7).edges());
}

TEST(Hypercube, JoinsNumbersThatDifferInOneBit) {
  EXPECT_TRUE(hypercube_graph(1).edges().empty());
  EXPECT_EQ(hypercube_graph(8).neighbours(5), (Group{1, 4, 7}));
  EXPECT_EQ(refusal([] { hypercube_graph(12); }),
            "a hypercube of 12 ranks; allowed: a power of two (1, 2, 4, 8, ...)");
  EXPECT_THROW(hypercube_graph(0), InvalidArgument);
  EXPECT_THROW(hypercube_graph(-8), InvalidArgument);
}

TEST(Exponential, HopsInPowersOfTwo) {
  EXPECT_EQ(exponential_graph(16).neighbours(0), (Group{1, 2, 4, 8, 12, 14, 15}));
  EXPECT_EQ(exponential_graph(6).neighbours(1), (Group{0, 2, 3, 5}));
  EXPECT_EQ(exponential_graph(2).edges(), ring_graph(2).edges());
  EXPECT_TRUE(exponential_graph(1).edges().empty());
}

TEST(BipartiteExponential, HopsInPowersOfTwoAndOne) {
  EXPECT_EQ(bipartite_exponential_graph(16).neighbours(0), (Group{1, 3, 5, 7, 9, 11, 13, 15}));
  EXPECT_EQ(bipartite_exponential_graph(32).neighbours(0), (Group{1, 3, 5, 9, 15, 17, 23, 27, 29, 31}));
  EXPECT_EQ(bipartite_exponential_graph(2).edges(), ring_graph(2).edges());
  EXPECT_EQ(bipartite_exponential_graph(3).edges(), (std::vector<Edge>{{0, 1}, {1, 2}}));
  EXPECT_TRUE(bipartite_exponential_graph(1).edges().empty());
  EXPECT_THROW(bipartite_exponential_graph(0), InvalidArgument);
}

TEST(BipartiteExponential, IsConnectedAndJoinsEvenWithOdd) {
  for (int n = 1; n <= 200; ++n) {
    const Graph graph = bipartite_exponential_graph(n);
    EXPECT_TRUE(graph.connected()) << n;
    for (const auto& [a, b] : graph.edges()) EXPECT_NE(a % 2, b % 2) << n << ": " << a << " " << b;
  }
}

TEST(Complete, JoinsAll) {
  EXPECT_EQ(complete_graph(4).neighbours(2), (Group{0, 1, 3}));
  EXPECT_EQ(complete_graph(9).edges().size(), 36u);
  EXPECT_TRUE(complete_graph(1).edges().empty());
}

TEST(WithoutLost, ARingBecomesAShorterRing) {
  const Graph left = without_lost(ring_graph(6), {1, 4, 2});
  EXPECT_EQ(left.edges(), (std::vector<Edge>{{0, 3}, {0, 5}, {3, 5}}));
  EXPECT_EQ(without_lost(ring_graph(3), {}).edges(), ring_graph(3).edges());
  EXPECT_TRUE(without_lost(ring_graph(2), {0}).edges().empty());
}

TEST(WithoutLost, WhatIsLeftIsConnected) {
  for (const char* name : {"ring", "torus", "hypercube", "exponential", "complete"}) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      Random random(seed);
      Group lost;
      for (Rank rank = 1; rank < 16; ++rank) {
        if (random.chance(0.6)) lost.push_back(rank);
      }
      const Graph left = without_lost(make_graph(name, 16), lost);
      EXPECT_EQ(left.unreached(), lost) << name << ", seed " << seed;
    }
  }
}

TEST(MakeGraph, BuildsConnectedGraphsOfEverySize) {
  for (int n = 1; n <= 40; ++n) {
    for (const std::string name : {"ring", "torus", "exponential", "complete"}) {
      EXPECT_EQ(make_graph(name, n).size(), n);
      EXPECT_TRUE(make_graph(name, n).connected()) << name << " of " << n;
    }
  }
  for (int n = 1; n <= 64; n *= 2) EXPECT_TRUE(make_graph("hypercube", n).connected());
}

TEST(MakeGraph, RefusesUnknownNamesAndSizes) {
  EXPECT_EQ(refusal([] { make_graph("star", 4); }),
            "unknown graph 'star'; allowed: ring, torus, hypercube, exponential, complete, file:PATH");
  EXPECT_THROW(make_graph("", 4), InvalidArgument);
  for (const std::string name : {"ring", "torus", "exponential", "complete", "file:x"}) {
    EXPECT_EQ(refusal([&] { make_graph(name, 0); }), "a graph of 0 ranks; allowed: 1 or more");
  }
}

}  // namespace
}  // namespace starling::coordination
