// The discrete Fourier transform of Cooley and Tukey.
#pragma once

#include <complex>
#include <vector>

namespace starling::analysis {

// That of the library looks for infinities, which takes long.
inline std::complex<double> product(const std::complex<double>& a, const std::complex<double>& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// In place; the size is a power of two. There and back multiplies by the size.
void transform(std::vector<std::complex<double>>& values, bool back);

}  // namespace starling::analysis
