// Extends a few trials to all thresholds: a Gaussian process over the logarithms of threshold and step time.
// Logarithms, because doubling a threshold matters alike everywhere, and because their differences are
// fractions of the step time, whatever a step takes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "starling/tuning/gaussian_process.h"

namespace starling::tuning {

struct Trial {
  std::size_t threshold = 0;
  double seconds = 0;  // median of the steps that were made with it
};

class ThresholdModel {
 public:
  // InvalidArgument for no trials.
  explicit ThresholdModel(std::span<const Trial> trials);

  // The fraction of the step time by which the threshold can be expected to beat the best of the trials.
  double gain_at(std::size_t threshold) const;

 private:
  // The logarithms of the seconds, brought to mean 0 and standard deviation 1.
  struct Standardised {
    std::vector<double> values;
    double deviation = 1;  // before that
  };
  static Standardised standardised(std::span<const Trial> trials);
  ThresholdModel(std::span<const double> octaves, const Standardised& times);

  double deviation_;
  GaussianProcess process_;
  double best_;  // lowest mean at a trial
};

// log2 of the threshold.
double octave_of(std::size_t threshold);
std::vector<double> octaves_of(std::span<const Trial> trials);

}  // namespace starling::tuning
