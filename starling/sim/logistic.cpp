#include "starling/sim/logistic.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "starling/core/elementary.h"
#include "starling/core/error.h"
#include "starling/sim/ziggurat.h"

namespace starling::sim {
namespace {

constexpr std::size_t kLogisticSamples = 2048;
constexpr std::size_t kLogisticBatch = 16;
constexpr double kFlipped = 0.05;
constexpr double kPenalty = 1e-4;
constexpr std::size_t kMostNumbers = std::size_t{1} << 28;  // 1 GiB of features

// Four running sums, added in a fixed order: one alone would wait for each addition before the next.
double dot(std::span<const float> a, std::span<const float> b) {
  std::array<double, 4> sums = {};
  std::size_t i = 0;
  for (; i + 4 <= a.size(); i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      sums[lane] += static_cast<double>(a[i + lane]) * b[i + lane];
    }
  }
  for (; i < a.size(); ++i) sums[0] += static_cast<double>(a[i]) * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double penalty(std::span<const float> x) { return 0.5 * kPenalty * dot(x, x); }

// ln(1 + e^-margin), without overflow for large negative margins.
double loss_at(double margin) {
  return std::max(0.0, -margin) + natural_log(1 + natural_exp(-std::fabs(margin)));
}

// The derivative of loss_at.
double slope_at(double margin) { return -1 / (1 + natural_exp(margin)); }

}  // namespace

Logistic::Logistic(const WorkloadSetting& setting)
    : parameters_(setting.parameters),
      batch_(setting.batch == 0 ? kLogisticBatch : setting.batch),
      sections_{{"weight", 0, setting.parameters}},
      shards_(kLogisticSamples, setting.workers) {
  const std::size_t samples = shards_.samples();
  if (parameters_ > kMostNumbers / samples) {
    throw InvalidArgument(concat("logistic with ", parameters_, " parameters is too large; with ", samples,
                                 " samples at most ", kMostNumbers / samples));
  }
  const Ziggurat normal;
  Random random(setting.seed);
  std::vector<float> plane(parameters_);
  for (float& element : plane) element = static_cast<float>(normal(random));
  features_.resize(samples * parameters_);
  for (float& element : features_) element = static_cast<float>(normal(random));
  labels_.resize(samples);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const bool above = dot(features(sample), plane) >= 0;
    labels_[sample] = above != random.chance(kFlipped) ? 1.0F : -1.0F;
  }
}

void Logistic::initialize(std::span<float> x, Random&) const { std::fill(x.begin(), x.end(), 0.0F); }

double Logistic::gradient(Rank worker, std::span<const float> x, std::span<float> gradient,
                          std::size_t samples, Random& random) const {
  check_sizes(x.size(), gradient.size(), samples);
  std::vector<double> sum(parameters_);
  double loss = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    const std::size_t sample = shards_.draw(worker, random);
    const std::span<const float> a = features(sample);
    const double margin = labels_[sample] * dot(a, x);
    const double factor = labels_[sample] * slope_at(margin);
    loss += loss_at(margin);
    for (std::size_t j = 0; j < parameters_; ++j) sum[j] += factor * a[j];
  }
  const auto count = static_cast<double>(samples);
  for (std::size_t j = 0; j < parameters_; ++j) {
    gradient[j] = static_cast<float>(sum[j] / count + kPenalty * x[j]);
  }
  return loss / count + penalty(x);
}

Evaluation Logistic::evaluate(std::span<const float> x) const {
  check_sizes(x.size(), parameters_, 1);
  double loss = 0;
  std::size_t right = 0;
  for (std::size_t sample = 0; sample < labels_.size(); ++sample) {
    const double margin = labels_[sample] * dot(features(sample), x);
    loss += loss_at(margin);
    right += margin > 0;
  }
  const auto count = static_cast<double>(labels_.size());
  return {loss / count + penalty(x), static_cast<double>(right) / count};
}

}  // namespace starling::sim
