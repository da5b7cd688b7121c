// MATCHA's plan (Wang, Sahu, Yang, Joshi and Kar, "MATCHA: speeding up decentralized SGD via matching
// decomposition sampling", 2019): which matchings of a graph are active in a step is random, so that links
// are used seldom, and those that matter to the mixing more often than others.
//
// With L_j the Laplacian of matching j, x <- W x with W = I - alpha sum_{j active} L_j mixes the values of a
// step. Matching j is active with the probability p_j, independently of the others
// (activation_probabilities.h). alpha is chosen so that the squared distance from the mean falls fastest: its
// expected factor per step is at most rho, the spectral norm of
//
//   E[W'W] - J = I - 2 alpha Lbar + alpha^2 (Lbar^2 + 2 Ltilde) - J,   J = 11'/n,
//
// where Lbar = sum p_j L_j and Ltilde = sum p_j (1 - p_j) L_j; a matching has L_j^2 = 2 L_j. rho is convex in
// alpha. If all matchings are always active, the best alpha is 2 / (lambda_2 + lambda_max) of the graph's
// Laplacian, and W is the same in all steps.
//
// Everything is computed from additions, multiplications, divisions and square roots in a fixed order: ranks
// on all processors come to the same bits.
#pragma once

#include <vector>

#include "starling/coordination/matchings.h"

namespace starling::coordination {

// Eigenvalues of larger matrices would take minutes.
inline constexpr int kMostPlannedRanks = 1024;

struct Activation {
  std::vector<double> probabilities;  // of the matchings
  double connectivity = 0;            // lambda_2 of Lbar
  double bound = 0;                   // no probabilities within the budget have a larger lambda_2
  double weight = 0;                  // alpha
  double contraction = 1;             // rho; 1 if the graph is not connected
};

// The sum of the probabilities is at most budget times the number of matchings; 0 < budget <= 1. Ranks
// without links, which may be lost, are left out of n. InvalidArgument for another budget, and for more than
// kMostPlannedRanks ranks with links.
Activation activation(const std::vector<Matching>& matchings, double budget);

// The best alpha for W = I - alpha L; ranks without links are left out. 0 for a graph without edges.
// InvalidArgument as above.
double laplacian_weight(const Graph& graph);

}  // namespace starling::coordination
