#include "starling/tuning/gaussian_process.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "starling/core/elementary.h"
#include "starling/core/error.h"

namespace starling::tuning {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

// Longer lengths would be trusted where a curve has a step: the search would end before it is found.
constexpr std::array kLengths = {0.75, 1.5, 3.0};
constexpr std::array kSignals = {0.5, 1.0, 2.0, 4.0};
constexpr std::array kNoises = {1e-4, 1e-3, 0.01, 0.1, 0.3, 1.0};

double covariance(const Kernel& kernel, double distance) {
  const double s = std::sqrt(5.0) * std::fabs(distance) / kernel.length;
  return kernel.signal * (1 + s + s * s / 3) * natural_exp(-s);
}

Vector covariances(const Kernel& kernel, std::span<const double> places, double place) {
  Vector result(static_cast<Eigen::Index>(places.size()));
  Eigen::Index row = 0;
  for (const double known : places) result(row++) = covariance(kernel, known - place);
  return result;
}

Matrix covariances(const Kernel& kernel, std::span<const double> places) {
  const auto count = static_cast<Eigen::Index>(places.size());
  Matrix result(count, count);
  Eigen::Index column = 0;
  for (const double place : places) result.col(column++) = covariances(kernel, places, place);
  result.diagonal().array() += kernel.noise;
  return result;
}

double normal_density(double z) {
  return natural_exp(-z * z / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

// Marsaglia's series ("Evaluating the Normal Distribution", 2004): 1/2 + density (z + z^3/3 + z^5/(3 5) +
// ...). Not libm's erfc, which is not the same everywhere.
double normal_distribution(double z) {
  if (std::fabs(z) > 8) return z > 0 ? 1 : 0;
  double term = z;
  double sum = z;
  for (int odd = 3; std::fabs(term) > 1e-17 * std::fabs(sum); odd += 2) {
    term *= z * z / odd;
    sum += term;
  }
  return 0.5 + sum * normal_density(z);
}

}  // namespace

GaussianProcess::GaussianProcess(std::span<const double> places, std::span<const double> values,
                                 const Kernel& kernel)
    : kernel_(kernel), places_(places.begin(), places.end()) {
  if (places.empty() || places.size() != values.size()) {
    throw InvalidArgument(concat("a Gaussian process of ", places.size(), " places and ", values.size(),
                                 " values; allowed: as many values as places, at least 1"));
  }
  const Eigen::LLT<Matrix> cholesky(covariances(kernel, places));
  if (cholesky.info() != Eigen::Success) {
    throw InvalidArgument(concat("a Gaussian process of ", places.size(), " places with noise ", kernel.noise,
                                 "; allowed: places that differ, or more noise"));
  }
  const auto count = static_cast<Eigen::Index>(values.size());
  const Eigen::Map<const Vector> known(values.data(), count);
  const Vector weights = cholesky.solve(known);
  const Matrix factor = cholesky.matrixL();
  weights_.assign(weights.begin(), weights.end());
  factor_.assign(factor.data(), factor.data() + factor.size());
  log_likelihood_ = -known.dot(weights) / 2;
  for (const double pivot : factor.diagonal()) log_likelihood_ -= natural_log(pivot);
  log_likelihood_ -= static_cast<double>(count) / 2 * natural_log(2 * std::numbers::pi);
}

GaussianProcess GaussianProcess::fitted(std::span<const double> places, std::span<const double> values) {
  std::optional<GaussianProcess> best;
  for (const double length : kLengths) {
    for (const double signal : kSignals) {
      for (const double noise : kNoises) {
        GaussianProcess process(places, values, {length, signal, noise});
        if (!best || process.log_likelihood() > best->log_likelihood()) best = std::move(process);
      }
    }
  }
  return *best;
}

// Mean k' K^-1 y and variance k(0) - k' K^-1 k, the latter as |L^-1 k|^2, which is not negative.
GaussianProcess::Prediction GaussianProcess::predict(double place) const {
  const auto count = static_cast<Eigen::Index>(places_.size());
  const Eigen::Map<const Matrix> factor(factor_.data(), count, count);
  const Eigen::Map<const Vector> weights(weights_.data(), count);
  const Vector towards = covariances(kernel_, places_, place);
  const double known = factor.triangularView<Eigen::Lower>().solve(towards).squaredNorm();
  return {towards.dot(weights), std::sqrt(std::max(0.0, kernel_.signal - known))};
}

double expected_improvement(double best, double mean, double deviation, double margin) {
  const double gain = best - margin - mean;
  if (deviation <= 0) return std::max(0.0, gain);
  const double z = gain / deviation;
  return std::max(0.0, gain * normal_distribution(z) + deviation * normal_density(z));
}

}  // namespace starling::tuning
