#include "starling/sim/shards.h"

#include <algorithm>

#include "starling/core/error.h"

namespace starling::sim {

Shards::Shards(std::size_t samples, int workers) : samples_(samples), workers_(workers) {
  if (workers < 1) throw InvalidArgument(concat("workers is ", workers, "; there must be at least 1"));
  samples_ = std::max(samples, static_cast<std::size_t>(workers));
}

Slice Shards::of(Rank worker) const {
  if (worker < 0 || worker >= workers_) {
    throw InvalidArgument(concat("worker ", worker, " has no data; there are workers 0 to ", workers_ - 1));
  }
  return slice_of(samples_, static_cast<std::size_t>(workers_), static_cast<std::size_t>(worker));
}

}  // namespace starling::sim
