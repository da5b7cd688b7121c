#include "starling/analysis/order_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "starling/analysis/integral.h"

namespace starling::analysis {

namespace {

// C(count, k) no^(count - k) yes^k for k below the limit, by logarithms: count may be large.
std::vector<double> power_terms(double no, double yes, int count, std::size_t limit) {
  const std::size_t terms = std::min(limit, static_cast<std::size_t>(count) + 1);
  std::vector<double> result(terms);
  const double log_no = std::log(no), log_yes = std::log(yes), all = std::lgamma(count + 1.0);
  for (std::size_t k = 0; k < terms; ++k) {
    const auto chosen = static_cast<double>(k), rest = count - chosen;
    double exponent = all - std::lgamma(chosen + 1) - std::lgamma(rest + 1);
    if (k > 0) exponent += chosen * log_yes;
    if (rest > 0) exponent += rest * log_no;
    result[k] = std::exp(exponent);
  }
  return result;
}

}  // namespace

std::vector<double> times_power(std::span<const double> before, double no, double yes, int count,
                                std::size_t limit) {
  const std::vector<double> terms = power_terms(std::max(no, 0.0), std::max(yes, 0.0), count, limit);
  std::vector<double> product(std::min(limit, before.size() + static_cast<std::size_t>(count)));
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (std::size_t k = 0; k < terms.size() && i + k < product.size(); ++k)
      product[i + k] += before[i] * terms[k];
  }
  return product;
}

std::vector<double> corners_of(std::span<const Team> teams) {
  std::vector<double> corners;
  for (const Team& team : teams) {
    const std::vector<double> own = team.law.corners();
    corners.insert(corners.end(), own.begin(), own.end());
  }
  return corners_from(0, std::move(corners));
}

double mean_of_largest(std::span<const Team> teams) {
  return integral(nodes_between(corners_of(teams)), [&](double t) {
    double log_all = 0;
    for (const Team& team : teams) log_all += team.count * std::log1p(-team.law.above(t));
    return -std::expm1(log_all);
  });
}

double mean_of_smallest(std::span<const Team> teams, int k) {
  const int all = std::accumulate(teams.begin(), teams.end(), 0,
                                  [](int sum, const Team& team) { return sum + team.count; });
  if (k == all) return mean_of_largest(teams);
  return integral(nodes_between(corners_of(teams)), [&](double t) {
    std::vector<double> done{1};
    for (const Team& team : teams) {
      const double above = team.law.above(t);
      done = times_power(done, above, 1 - above, team.count, static_cast<std::size_t>(k));
    }
    return std::accumulate(done.begin(), done.end(), 0.0);
  });
}

}  // namespace starling::analysis
