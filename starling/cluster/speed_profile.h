// How fast a worker computes, over time.
#pragma once

#include <span>
#include <vector>

#include "starling/cluster/cluster.h"
#include "starling/core/types.h"

namespace starling::cluster {

// Constant between the beginnings and ends of slowdowns and pauses. Overlapping slowdowns multiply.
class SpeedProfile {
 public:
  SpeedProfile(const Cluster& cluster, Rank worker);

  // `faults` are the worker's; other kinds than kSlow and kPause do not matter.
  SpeedProfile(double speed, std::span<const Fault> faults);

  // When work is done that takes `work_seconds` on a worker of speed 1, to the nearest nanosecond;
  // Time(kForever) if never. No work is done at once, even in a pause.
  Time finish(Time start, double work_seconds) const;

 private:
  struct Segment {
    Time begin;   // until the next segment begins
    double rate;  // work per time
  };

  std::vector<Segment> segments_;  // the first holds for all times before the second
};

}  // namespace starling::cluster
