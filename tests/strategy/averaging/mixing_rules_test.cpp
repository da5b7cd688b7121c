#include "starling/strategy/averaging/mixing_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "starling/coordination/mixing.h"
#include "starling/core/text.h"

namespace starling::strategy {
namespace {

using coordination::Graph;
using coordination::make_graph;

// The weights of a step, by rank and rank, without the diagonal. Every rank has a rule of its own, as workers
// do.
using Weights = std::map<std::pair<Rank, Rank>, double>;

Weights weights_of(const MixingRule& rule, const Graph& graph, std::uint64_t step) {
  Weights weights;
  for (Rank rank = 0; rank < graph.size(); ++rank) {
    const std::unique_ptr<MixingRule> own = rule.copy();
    Rank before = -1;
    for (const Link& link : own->links(graph, rank, step)) {
      EXPECT_GT(link.rank, before);
      before = link.rank;
      weights[{rank, link.rank}] = link.weight;
    }
  }
  return weights;
}

void expect_symmetric(const Weights& weights, const Graph& graph) {
  for (const auto& [link, weight] : weights) {
    const auto& joined = graph.neighbours(link.first);
    EXPECT_NE(std::ranges::find(joined, link.second), joined.end());
    const auto reverse = weights.find({link.second, link.first});
    ASSERT_NE(reverse, weights.end()) << link.first << " " << link.second;
    EXPECT_EQ(reverse->second, weight);
  }
}

// The rows of W add up to 1 by the form of the update, so the columns do if W is symmetric.
TEST(MixingRules, AreSymmetricInEveryStep) {
  for (const char* const name : {"ring", "torus", "exponential", "complete"}) {
    for (const int n : {1, 2, 5, 8, 12}) {
      SCOPED_TRACE(concat(name, " of ", n));
      const Graph graph = make_graph(name, n);
      expect_symmetric(weights_of(MetropolisRule(), graph, 1), graph);
      expect_symmetric(weights_of(LaplacianRule(graph), graph, 1), graph);
      for (const double budget : {0.1, 0.5, 1.0}) {
        const MatchaRule rule(graph, budget);
        for (std::uint64_t step = 1; step <= 30; ++step)
          expect_symmetric(weights_of(rule, graph, step), graph);
      }
    }
  }
}

TEST(MixingRules, MetropolisAndLaplacianUseEveryLinkAlways) {
  const Graph graph = make_graph("exponential", 12);
  MetropolisRule metropolis;
  LaplacianRule laplacian(graph);
  for (Rank rank = 0; rank < graph.size(); ++rank) {
    const auto known = coordination::metropolis(graph, rank).weights;
    const auto links = metropolis.links(graph, rank, 7);
    ASSERT_EQ(links.size(), known.size());
    for (std::size_t i = 0; i < links.size(); ++i) {
      EXPECT_EQ(links[i], (Link{graph.neighbours(rank)[i], known[i]}));
      EXPECT_EQ(laplacian.links(graph, rank, 7)[i],
                (Link{graph.neighbours(rank)[i], coordination::laplacian_weight(graph)}));
    }
  }
}

TEST(MixingRules, MatchaWithTheWholeBudgetIsLaplacian) {
  for (const char* const name : {"ring", "torus", "exponential"}) {
    const Graph graph = make_graph(name, 12);
    MatchaRule matcha(graph, 1);
    LaplacianRule laplacian(graph);
    for (std::uint64_t step = 1; step <= 10; ++step) {
      for (Rank rank = 0; rank < graph.size(); ++rank) {
        EXPECT_EQ(matcha.links(graph, rank, step), laplacian.links(graph, rank, step));
      }
    }
  }
}

// A matching is active as a whole, and as often as planned; all combinations occur.
TEST(MixingRules, MatchingsAreActiveAsOftenAsPlanned) {
  constexpr int kSteps = 20'000;
  for (const char* const name : {"ring", "exponential"}) {
    const Graph graph = make_graph(name, 8);
    const MatchaRule rule(graph, 0.4);
    const std::vector<double>& planned = rule.activation().probabilities;
    std::vector<int> active(planned.size());
    std::set<std::vector<bool>> combinations;
    for (std::uint64_t step = 1; step <= kSteps; ++step) {
      const std::vector<bool> now = active_matchings(rule.activation(), step);
      for (std::size_t j = 0; j < now.size(); ++j) active[j] += now[j] ? 1 : 0;
      combinations.insert(now);
    }
    for (std::size_t j = 0; j < planned.size(); ++j) {
      const double deviation = std::sqrt(planned[j] * (1 - planned[j]) / kSteps);
      EXPECT_NEAR(static_cast<double>(active[j]) / kSteps, planned[j], 4 * deviation + 1e-3) << name << j;
    }
    const double expected = std::reduce(planned.begin(), planned.end());
    EXPECT_NEAR(expected, 0.4 * static_cast<double>(planned.size()), 1e-6);
    EXPECT_NEAR(std::reduce(active.begin(), active.end()) / (1.0 * kSteps), expected, 0.02 * expected);
    EXPECT_EQ(combinations.size(), std::size_t{1} << planned.size()) << name;
  }
}

// Workers may learn of losses in one go or one after the other.
TEST(MixingRules, FollowTheGraph) {
  const Graph whole = make_graph("exponential", 12);
  const Graph without_one = coordination::without_lost(whole, {2});
  const Graph without_two = coordination::without_lost(whole, {2, 5});
  const std::unique_ptr<MixingRule> rules[] = {std::make_unique<LaplacianRule>(whole),
                                               std::make_unique<MatchaRule>(whole, 0.5)};
  for (const std::unique_ptr<MixingRule>& rule : rules) {
    const std::unique_ptr<MixingRule> slow = rule->copy(), quick = rule->copy();
    for (std::uint64_t step = 1; step <= 20; ++step) {
      for (Rank rank = 0; rank < whole.size(); ++rank) {
        slow->links(without_one, rank, step);
        const auto links = slow->links(without_two, rank, step);
        EXPECT_EQ(links, quick->links(without_two, rank, step));
        for (const Link& link : links) EXPECT_TRUE(link.rank != 2 && link.rank != 5);
      }
      expect_symmetric(weights_of(*rule, without_two, step), without_two);
      EXPECT_EQ(weights_of(*slow, whole, step), weights_of(*rule, whole, step));
    }
  }
}

}  // namespace
}  // namespace starling::strategy
