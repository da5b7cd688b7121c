// How fast a worker computes, over time.
#pragma once

#include <span>
#include <vector>

#include "starling/core/types.h"
#include "starling/sim/cluster.h"

namespace starling::sim {

// Constant between the beginnings and ends of slowdowns and pauses. Overlapping slowdowns multiply.
class Pace {
 public:
  Pace(const Cluster& cluster, Rank worker);

  // `faults` are the worker's; other kinds than kSlow and kPause do not matter.
  Pace(double speed, std::span<const Fault> faults);

  // When work is done that takes `work_seconds` on a worker of speed 1, to the nearest nanosecond;
  // Time(kForever) if never. No work is done at once, even in a pause.
  Time finish(Time start, double work_seconds) const;

 private:
  struct Piece {
    Time begin;   // until the next piece begins
    double rate;  // work per time
  };

  std::vector<Piece> pieces_;  // the first holds for all times before the second
};

}  // namespace starling::sim
