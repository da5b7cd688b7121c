// A part of the global batch: the batches of all workers in a step, as they are without a plan.
#pragma once

#include <cmath>
#include <cstddef>

#include "starling/core/partition.h"

namespace starling::strategy {

// From 0 to 1.
struct Portion {
  double begin = 0, end = 0;

  static Portion equal(int worker, int workers) {
    return {static_cast<double>(worker) / workers, static_cast<double>(worker + 1) / workers};
  }

  // Of so many samples. The portions of all workers together are all of them, each once.
  Slice of(std::size_t samples) const {
    const auto at = [&](double share) {
      return static_cast<std::size_t>(std::llround(share * static_cast<double>(samples)));
    };
    return {at(begin), at(end)};
  }
};

}  // namespace starling::strategy
