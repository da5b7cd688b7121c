// The largest and the k-th smallest of independent times, of which not all need have the same distribution.
//
//   E max = integral of 1 - prod_i F_i(t)
//   E k-th smallest = integral of P(fewer than k are <= t)
//
// How many are <= t has a Poisson binomial distribution: a product of the polynomials P(X_i > t) + P(X_i <=
// t) z.
#pragma once

#include <span>
#include <vector>

#include "starling/analysis/time_law.h"

namespace starling::analysis {

// So many workers of one distribution.
struct Team {
  int count = 1;
  TimeLaw law;
};

// The coefficients of z^0 to z^(limit - 1) of (no + yes z)^count times `before`.
std::vector<double> times_power(std::span<const double> before, double no, double yes, int count,
                                std::size_t limit);

// Where the distributions of all of them jump or bend, from 0.
std::vector<double> corners_of(std::span<const Team> teams);

double mean_of_largest(std::span<const Team> teams);
// `k` counts from 1.
double mean_of_smallest(std::span<const Team> teams, int k);

}  // namespace starling::analysis
