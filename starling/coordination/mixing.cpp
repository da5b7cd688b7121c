#include "starling/coordination/mixing.h"

#include <algorithm>

#include "starling/core/error.h"

namespace starling::coordination {
namespace {

bool contains(const Group& group, Rank rank) {
  return std::find(group.begin(), group.end(), rank) != group.end();
}

}  // namespace

MixingRow metropolis(const Graph& graph, Rank rank) { return metropolis(graph, rank, {}); }

MixingRow metropolis(const Graph& graph, Rank rank, const Group& lost) {
  if (contains(lost, rank)) {
    throw InvalidArgument(concat("rank ", rank, " is lost and mixes with nobody; allowed: survivors"));
  }
  MixingRow row;
  for (const Rank neighbour : graph.neighbours(rank)) {
    const int degree = std::max(graph.degree(rank), graph.degree(neighbour));
    const double weight = contains(lost, neighbour) ? 0 : 1.0 / (1 + degree);
    row.weights.push_back(weight);
    row.self -= weight;
  }
  return row;
}

}  // namespace starling::coordination
