// How often the matchings of a graph should be active, so that values mix fast although links are seldom
// used: MATCHA's first optimisation (activation.h). With L_j the Laplacian of matching j,
//
//   maximise lambda_2(sum_j p_j L_j)  subject to  sum_j p_j <= budget m,  0 <= p_j <= 1
//
// for m matchings, where lambda_2 is the second smallest eigenvalue. It is concave in p but has no gradient
// where it is multiple, as in rings and tori. So Newton's method follows the central path of the same problem
// as a semidefinite programme: maximise t such that A = sum_j p_j L_j - t I is positive definite beside the
// vector of ones. Any positive definite S gives a bound: no feasible q has a lambda_2 above
// max_q sum_j q_j tr(S L_j) / tr S, because lambda_2(q) tr S <= tr(S L(q)). On the path the inverse of A,
// moved along Newton's step, gives one that becomes as near as wanted. Where p_j = budget for all j reaches
// its bound, as in graphs whose matchings are all alike, it is taken as it is.
//
// About 25 steps, each of about n^3 + e^2 / 2 multiplications for n ranks and e edges, find what is within
// 1e-6 of the bound. Their number is limited to 100, and to 2e10 multiplications in all, which graphs of a
// thousand ranks reach, and dense ones of some hundreds. What is always right: p is feasible, at least as
// good as p_j = budget, and `bound` holds.
#pragma once

#include <vector>

#include "starling/coordination/matchings.h"

namespace starling::coordination {

struct ActivationProbabilities {
  std::vector<double> values;  // of the matchings
  double connectivity = 0;     // lambda_2 of the mean Laplacian
  double bound = 0;            // no feasible probabilities have a larger one
};

// The matchings join the ranks 0 to ranks-1, of which there are two or more. If they do not connect all of
// them, every lambda_2 is 0 and all probabilities are the budget. 0 < budget <= 1.
ActivationProbabilities activation_probabilities(int ranks, const std::vector<Matching>& matchings,
                                                 double budget);

}  // namespace starling::coordination
