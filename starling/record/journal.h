// One rank's notes of a run, written by the rank itself and read when the run is over.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "starling/record/lock_waits.h"
#include "starling/record/span.h"
#include "starling/record/staleness.h"
#include "starling/record/step_traffic.h"

namespace starling::record {

// The work of a group generator.
struct Generated {
  std::uint64_t requests = 0;
  std::uint64_t groups = 0;
  std::uint64_t members = 0;   // of all these groups
  std::uint64_t censuses = 0;  // after losses

  void merge(const Generated& other) {
    requests += other.requests;
    groups += other.groups;
    members += other.members;
    censuses += other.censuses;
  }
};

// The bucket size, if it was tuned during the run.
struct Fusion {
  struct Trial {
    std::uint64_t bytes = 0;
    double seconds = 0;  // of a step
  };
  std::vector<Trial> trials;
  std::uint64_t bytes = 0;  // at the end; 0: not tuned
  bool settled = false;     // the search was over
};

struct Journal {
  std::vector<Span> spans;   // in the order in which they ended
  std::uint64_t handed = 0;  // spans that were here and went to the record of the run
  bool keeps_spans =
      true;  // false: a run of any length needs no more memory; the rest is counted all the same
  std::uint64_t steps = 0;
  std::uint64_t samples = 0;
  std::uint64_t skipped = 0;  // steps whose gradient was not finite
  std::string stopped;        // why this rank has asked for the end of the run; empty: it has not
  Staleness staleness;
  LockWaits lock_waits;
  StepTraffic step_traffic;
  Generated generated;
  Fusion fusion;
  // So far, without background work. Waiting includes the bytes' time on the wire.
  Duration computing{};
  Duration waiting{};

  // A meeting counts even if it took no time: the last to arrive is known only if all are recorded.
  void add(const Span& span) {
    if (!span.background) total(span);
    if (!keeps_spans) return;
    if (span.end > span.begin || span.activity == Activity::kMeet) spans.push_back(span);
  }

  // The spans so far, which are then no longer here.
  std::vector<Span> hand_over() {
    handed += spans.size();
    return std::exchange(spans, {});
  }

 private:
  void total(const Span& span) {
    if (span.activity == Activity::kCompute) computing += span.end - span.begin;
    if (span.activity == Activity::kWait || span.activity == Activity::kMeet)
      waiting += span.end - span.begin;
  }
};

}  // namespace starling::record
