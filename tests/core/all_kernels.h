#pragma once

#include <vector>

#include "starling/core/combine.h"

namespace starling::detail {

// The kernels that this processor can run, the baseline first.
inline std::vector<const Kernels*> all_kernels() {
  std::vector<const Kernels*> kernels = {&baseline_kernels()};
  if (const Kernels* const avx2 = avx2_kernels()) kernels.push_back(avx2);
  return kernels;
}

}  // namespace starling::detail
