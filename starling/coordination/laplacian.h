// Laplacians of graphs whose edges have weights, and eigenvalues.
//
// With b the difference of the unit vectors of an edge's ends, the edge adds its weight times b b'. The
// eigenvalues are not negative; one of them is 0, with the vector of ones, and the second smallest, lambda_2,
// is above 0 exactly if the edges with weights above 0 connect all ranks.
#pragma once

#include <span>
#include <vector>

#include "starling/coordination/matchings.h"

namespace starling::coordination {

// A symmetric matrix, its rows one after the other.
struct SymmetricMatrix {
  int size = 0;
  std::vector<double> values;
};

// sum_j weights_j L_j of the ranks 0 to ranks-1, where L_j is the Laplacian of matching j.
SymmetricMatrix weighted_laplacian(int ranks, const std::vector<Matching>& matchings,
                                   std::span<const double> weights);

// In ascending order.
std::vector<double> eigenvalues(const SymmetricMatrix& matrix);

}  // namespace starling::coordination
