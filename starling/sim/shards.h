// The assignment of a generated data set's samples to workers.
#pragma once

#include <cstddef>

#include "starling/core/partition.h"
#include "starling/core/random.h"
#include "starling/core/types.h"

namespace starling::sim {

// Balanced slices, one per worker: disjoint, together all samples, none empty.
class Shards {
 public:
  // At least `samples`, and as many as there are workers.
  Shards(std::size_t samples, int workers);

  std::size_t samples() const { return samples_; }
  Slice of(Rank worker) const;

  // The worker draws one of its samples; a batch may hold one twice.
  std::size_t draw(Rank worker, Random& random) const {
    const Slice own = of(worker);
    return own.begin + static_cast<std::size_t>(random.below(own.size()));
  }

 private:
  std::size_t samples_;
  int workers_;
};

}  // namespace starling::sim
