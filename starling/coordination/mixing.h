// The weights with which a rank averages its neighbours' values with its own.
//
// Metropolis weights (Xiao, Boyd and Lall, "Distributed average consensus with time-varying Metropolis
// weights", 2006): 1 / (1 + max(degree of i, degree of j)) for an edge, the rest of 1 for the rank itself.
// The matrix is symmetric and its rows and columns add up to 1, so mixing keeps the mean over all ranks. On a
// connected graph the ranks' distances from it shrink at least by the second largest |eigenvalue| per step.
#pragma once

#include <vector>

#include "starling/coordination/topology.h"

namespace starling::coordination {

struct MixingRow {
  double self = 1;
  std::vector<double> weights;  // of the graph's neighbours, in their order

  friend bool operator==(const MixingRow&, const MixingRow&) = default;
};

MixingRow metropolis(const Graph& graph, Rank rank);

// The same after losses: the weight of a lost neighbour is 0 and goes to the rank itself. Degrees stay those
// of the whole graph: a rank need only know which of its own neighbours are lost, and the matrix among the
// survivors is again symmetric with rows that add up to 1. `rank` must not be lost.
MixingRow metropolis(const Graph& graph, Rank rank, const Group& lost);

}  // namespace starling::coordination
