#include "starling/sim/quadratic.h"

#include <algorithm>
#include <cmath>

#include "starling/core/elementary.h"

namespace starling::sim {
namespace {

constexpr std::size_t kQuadraticBatch = 32;

// From 0.1 at the first element to 1 at the last; a single element has 1.
float curvature_at(std::size_t index, std::size_t count) {
  if (count == 1) return 1;
  const double place = static_cast<double>(count - 1 - index) / static_cast<double>(count - 1);
  return static_cast<float>(natural_exp(place * natural_log(0.1)));
}

}  // namespace

Quadratic::Quadratic(const WorkloadSetting& setting)
    : noise_(setting.noise),
      batch_(setting.batch == 0 ? kQuadraticBatch : setting.batch),
      sections_{{"x", 0, setting.parameters}},
      curvature_(setting.parameters),
      optimum_(setting.parameters) {
  Random random(setting.seed);
  for (std::size_t j = 0; j < setting.parameters; ++j) {
    curvature_[j] = curvature_at(j, setting.parameters);
    optimum_[j] = static_cast<float>(normal_(random));
  }
}

void Quadratic::initialize(std::span<float> x, Random&) const { std::fill(x.begin(), x.end(), 0.0F); }

double Quadratic::gradient(Rank, std::span<const float> x, std::span<float> gradient, std::size_t samples,
                           Random& random) const {
  check_sizes(x.size(), gradient.size(), samples);
  double twice = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double distance = static_cast<double>(x[j]) - optimum_[j];
    const double slope = curvature_[j] * distance;
    gradient[j] = static_cast<float>(slope);
    twice += slope * distance;
  }
  if (noise_ > 0) {
    const double deviation = noise_ / std::sqrt(static_cast<double>(samples));
    for (float& element : gradient) element = static_cast<float>(element + deviation * normal_(random));
  }
  return twice / 2;
}

Evaluation Quadratic::evaluate(std::span<const float> x) const {
  check_sizes(x.size(), parameters(), 1);
  double twice = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double distance = static_cast<double>(x[j]) - optimum_[j];
    const double slope = curvature_[j] * distance;
    twice += slope * distance;
  }
  return {twice / 2, {}};
}

}  // namespace starling::sim
