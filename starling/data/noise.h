// Pictures of noise, for computations where only the time counts.
#pragma once

#include <cstddef>

#include "starling/data/dataset.h"

namespace starling::data {

inline constexpr std::size_t kNoiseTest = 500;  // pictures to test with

// Colour pictures of 32 x 32 in ten classes, as CIFAR-10's: pixels and labels are drawn independently, so
// nothing can be learnt. A smaller set is the beginning of a larger one.
ImageSet make_noise(std::size_t train);

}  // namespace starling::data
