#include "cli/analyse/interval.h"

#include <cmath>
#include <numbers>

namespace starling::cli {

namespace {

std::vector<double> means_by_worker(const Measurements& values) {
  std::vector<double> means(values.front().size());
  for (const std::vector<double>& seed : values) {
    for (std::size_t i = 0; i < means.size(); ++i) means[i] += seed[i] / static_cast<double>(values.size());
  }
  return means;
}

// With t = sqrt(f) tan(a) the density of Student for f degrees of freedom is in proportion to cos^(f-1) a.
double cosine_power(double freedom, double from, double to) {
  constexpr int kParts = 2000;
  double sum = 0;
  for (int i = 0; i < kParts; ++i)
    sum += std::pow(std::cos(from + (to - from) * (i + 0.5) / kParts), freedom - 1);
  return sum * (to - from) / kParts;
}

}  // namespace

Interval sum_of_ratios(const Measurements& above, const Measurements& below, double quantile) {
  const std::vector<double> above_mean = means_by_worker(above), below_mean = means_by_worker(below);
  const auto seeds = static_cast<double>(above.size());
  Interval result;
  for (std::size_t i = 0; i < above_mean.size(); ++i) result.middle += above_mean[i] / below_mean[i];
  double squares = 0;
  for (std::size_t s = 0; s < above.size(); ++s) {
    double error = 0;
    for (std::size_t i = 0; i < above_mean.size(); ++i)
      error += (above[s][i] - above_mean[i] / below_mean[i] * below[s][i]) / below_mean[i];
    squares += error * error;
  }
  result.half = quantile * std::sqrt(squares / (seeds - 1) / seeds);
  return result;
}

Interval inverse(const Interval& x, double constant) {
  return {constant / x.middle, constant / (x.middle * x.middle) * x.half};
}

double student_quantile(double chance, std::size_t values) {
  const auto freedom = static_cast<double>(values) - 1;
  const double all = cosine_power(freedom, 0, std::numbers::pi / 2);
  double low = 0, high = std::numbers::pi / 2;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (cosine_power(freedom, middle, std::numbers::pi / 2) > chance * all ? low : high) = middle;
  }
  return std::sqrt(freedom) * std::tan(low);
}

}  // namespace starling::cli
