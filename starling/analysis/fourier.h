// The discrete Fourier transform of Cooley and Tukey.
#pragma once

#include <complex>
#include <vector>

namespace starling::analysis {

// In place; the size is a power of two. There and back multiplies by the size.
void transform(std::vector<std::complex<double>>& values, bool back);

}  // namespace starling::analysis
