// The distribution of a sum of independent factors.
//
//   none, bernoulli  atoms; how many of m factors are F has a binomial distribution
//   exponential      P(sum of m > t) = P(Poisson(t) < m)
//   others           on a grid: mass is divided between the two nearest points so that the mean stays what it
//                    is, and the m-fold convolution is the m-th power of the Fourier transform
//
// The grid has 2^16 points. Its steps make a variance larger by at most a sixth of their square per factor: a
// relative error of 1e-6 to 1e-4 in what is more than the mean. Beyond the grid, where 1e-6 is left or the
// tail is heavy, a sum is large because one of its factors is.
#pragma once

#include <complex>
#include <vector>

#include "starling/analysis/time_law.h"

namespace starling::analysis {

class DrawSums {
 public:
  // Of up to `most` factors.
  DrawSums(const cluster::Jitter& jitter, int most);

  TimeLaw of(int count) const;

 private:
  using Spectrum = std::vector<std::complex<double>>;

  void make_grid(int most);
  std::vector<double> masses_of(int count) const;
  TimeLaw from_grid(int count) const;

  cluster::Jitter::Kind kind_;
  TimeLaw factor_;
  double step_ = 0;  // of the grid
  Spectrum spectrum_;
};

}  // namespace starling::analysis
