#include "starling/core/elementary.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace starling {
namespace {

// 1 / n: a division in the loop would take longer than all the rest.
constexpr std::array kInverses = {1.0,     1.0 / 2, 1.0 / 3,  1.0 / 4,  1.0 / 5,  1.0 / 6, 1.0 / 7,
                                  1.0 / 8, 1.0 / 9, 1.0 / 10, 1.0 / 11, 1.0 / 12, 1.0 / 13};

}  // namespace

// x = m 2^k with m near 1; ln m = 2 artanh s = 2 (s + s^3/3 + s^5/5 + ...), s = (m - 1) / (m + 1). As
// |s| < 0.172 the terms left out are below 2^-55 of the result.
double natural_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  double series = 0;
  for (int odd = 21; odd >= 1; odd -= 2) series = series * (s * s) + 1.0 / odd;
  return exponent * 0.69314718055994531 + 2 * s * series;
}

// e^x = 2^k e^r with |r| <= ln(2) / 2, where the terms of the series after r^13 are below 2^-57. ln 2 comes
// in two parts, of which the first has so few bits that its product with k is exact.
double natural_exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 709) return std::numeric_limits<double>::infinity();
  if (x < -708) return 0;
  const double k = std::floor(x * 1.44269504088896341 + 0.5);
  const double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
  double series = 1;
  for (std::size_t n = kInverses.size(); n >= 1; --n) series = 1 + series * (r * kInverses[n - 1]);
  return series *
         std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::int64_t>(k) + 1023) << 52);
}

double hyperbolic_tangent(double x) {
  const double t = natural_exp(-2 * std::fabs(x));
  return std::copysign((1 - t) / (1 + t), x);
}

}  // namespace starling
