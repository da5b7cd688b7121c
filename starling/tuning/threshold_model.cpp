#include "starling/tuning/threshold_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "starling/core/elementary.h"
#include "starling/core/error.h"

namespace starling::tuning {
namespace {

// Times that differ by less are not blown up to a curve.
constexpr double kLeastDeviation = 1e-3;

}  // namespace

ThresholdModel::ThresholdModel(std::span<const Trial> trials)
    : ThresholdModel(octaves_of(trials), standardised(trials)) {}

// The best is a mean, not the lowest time: that one is low by chance too, and nothing would seem worth a
// trial.
ThresholdModel::ThresholdModel(std::span<const double> octaves, const Standardised& times)
    : deviation_(times.deviation),
      process_(GaussianProcess::fitted(octaves, times.values)),
      best_(std::numeric_limits<double>::infinity()) {
  for (const double octave : octaves) best_ = std::min(best_, process_.predict(octave).mean);
}

ThresholdModel::Standardised ThresholdModel::standardised(std::span<const Trial> trials) {
  if (trials.empty()) throw InvalidArgument("a model of 0 trials; allowed: 1 and more");
  Standardised times;
  for (const Trial& trial : trials) times.values.push_back(natural_log(trial.seconds));
  const auto count = static_cast<double>(trials.size());
  double mean = 0;
  for (const double value : times.values) mean += value / count;
  double variance = 0;
  for (const double value : times.values) variance += (value - mean) * (value - mean) / count;
  times.deviation = std::max(kLeastDeviation, std::sqrt(variance));
  for (double& value : times.values) value = (value - mean) / times.deviation;
  return times;
}

double ThresholdModel::gain_at(std::size_t threshold) const {
  const auto prediction = process_.predict(octave_of(threshold));
  return deviation_ * expected_improvement(best_, prediction.mean, prediction.deviation);
}

double octave_of(std::size_t threshold) {
  return natural_log(static_cast<double>(threshold)) / std::numbers::ln2;
}

std::vector<double> octaves_of(std::span<const Trial> trials) {
  std::vector<double> octaves;
  octaves.reserve(trials.size());
  for (const Trial& trial : trials) octaves.push_back(octave_of(trial.threshold));
  return octaves;
}

}  // namespace starling::tuning
