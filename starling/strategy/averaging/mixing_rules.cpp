#include "starling/strategy/averaging/mixing_rules.h"

#include <algorithm>

#include "starling/coordination/mixing.h"
#include "starling/core/random.h"

namespace starling::strategy {

using coordination::Graph;

namespace {

// The same in all runs, so that all workers know it.
constexpr std::uint64_t kActivationSeed = 0x6d6174636861;

}  // namespace

std::vector<Link> MetropolisRule::links(const Graph& graph, Rank rank, std::uint64_t /*step*/) {
  const std::vector<double> weights = coordination::metropolis(graph, rank).weights;
  std::vector<Link> links;
  links.reserve(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) links.push_back({graph.neighbours(rank)[i], weights[i]});
  return links;
}

LaplacianRule::LaplacianRule(const Graph& graph)
    : plan_(std::make_shared<const Plan>(Plan{graph, coordination::laplacian_weight(graph)})) {}

std::vector<Link> LaplacianRule::links(const Graph& graph, Rank rank, std::uint64_t /*step*/) {
  if (plan_->graph != graph) *this = LaplacianRule(graph);
  std::vector<Link> links;
  for (const Rank neighbour : graph.neighbours(rank)) links.push_back({neighbour, plan_->weight});
  return links;
}

MatchaRule::MatchaRule(const Graph& graph, double budget) : budget_(budget), plan_(plan(graph, budget)) {}

std::shared_ptr<const MatchaRule::Plan> MatchaRule::plan(const Graph& graph, double budget) {
  const std::vector<coordination::Matching> matchings = coordination::disjoint_matchings(graph);
  return std::make_shared<const Plan>(Plan{graph, matchings, coordination::activation(matchings, budget)});
}

std::vector<Link> MatchaRule::links(const Graph& graph, Rank rank, std::uint64_t step) {
  if (plan_->graph != graph) plan_ = plan(graph, budget_);
  const std::vector<bool> active = active_matchings(activation(), step);
  std::vector<Link> links;
  for (std::size_t j = 0; j < active.size(); ++j) {
    if (!active[j]) continue;
    for (const auto& [a, b] : matchings()[j]) {
      if (a == rank || b == rank) links.push_back({a == rank ? b : a, activation().weight});
    }
  }
  std::ranges::sort(links, {}, &Link::rank);
  return links;
}

std::vector<bool> active_matchings(const coordination::Activation& activation, std::uint64_t step) {
  Random random = Random(kActivationSeed).fork(step);
  std::vector<bool> active;
  active.reserve(activation.probabilities.size());
  for (const double probability : activation.probabilities) active.push_back(random.chance(probability));
  return active;
}

}  // namespace starling::strategy
