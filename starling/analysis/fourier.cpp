#include "starling/analysis/fourier.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace starling::analysis {

namespace {

void reverse_bits(std::vector<std::complex<double>>& values) {
  for (std::size_t i = 1, j = 0; i < values.size(); ++i) {
    std::size_t bit = values.size() / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(values[i], values[j]);
  }
}

// e^(2 pi i k / size), or their conjugates.
std::vector<std::complex<double>> roots_of_one(std::size_t size, bool back) {
  std::vector<std::complex<double>> roots(size / 2);
  const double angle = (back ? 2 : -2) * std::numbers::pi / static_cast<double>(size);
  for (std::size_t k = 0; k < roots.size(); ++k) roots[k] = std::polar(1.0, angle * static_cast<double>(k));
  return roots;
}

}  // namespace

void transform(std::vector<std::complex<double>>& values, bool back) {
  reverse_bits(values);
  const std::vector<std::complex<double>> roots = roots_of_one(values.size(), back);
  for (std::size_t half = 1; half < values.size(); half *= 2) {
    const std::size_t stride = values.size() / (2 * half);
    for (std::size_t block = 0; block < values.size(); block += 2 * half) {
      for (std::size_t k = 0; k < half; ++k) {
        std::complex<double>& a = values[block + k];
        std::complex<double>& b = values[block + k + half];
        const std::complex<double> turned = product(b, roots[k * stride]);
        b = a - turned;
        a += turned;
      }
    }
  }
}

}  // namespace starling::analysis
