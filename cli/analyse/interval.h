// Means over independent seeds, and how far from them the true value may be.
#pragma once

#include <vector>

namespace starling::cli {

struct Interval {
  double middle = 0;
  double half = 0;
};

// By seed, and in each by worker.
using Measurements = std::vector<std::vector<double>>;

// Of the sum over workers of E above / E below. A ratio of means, and not a mean of ratios, is right for long
// and short runs alike; its error is that of above - ratio x below, and `quantile` standard errors are
// allowed.
Interval sum_of_ratios(const Measurements& above, const Measurements& below, double quantile);

// Of constant / x.
Interval inverse(const Interval& x, double constant);

// The t of Student: a mean of `values` normal numbers is beyond so many standard errors, on either side, with
// this chance.
double student_quantile(double chance, std::size_t values);

}  // namespace starling::cli
