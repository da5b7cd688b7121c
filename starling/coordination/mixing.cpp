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

std::vector<std::vector<double>> mixing_matrix(const Graph& graph, const Group& lost) {
  const auto n = static_cast<std::size_t>(graph.size());
  std::vector<std::vector<double>> matrix(n, std::vector<double>(n));
  for (Rank rank = 0; rank < graph.size(); ++rank) {
    const MixingRow row = contains(lost, rank) ? MixingRow{} : metropolis(graph, rank, lost);
    const auto i = static_cast<std::size_t>(rank);
    matrix[i][i] = row.self;
    for (std::size_t k = 0; k < row.weights.size(); ++k) {
      matrix[i][static_cast<std::size_t>(graph.neighbours(rank)[k])] = row.weights[k];
    }
  }
  return matrix;
}

}  // namespace starling::coordination
