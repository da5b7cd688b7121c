// A rank's activity over time. Both worlds write spans; the analysis, the summary and the trace read them.
#pragma once

#include <cstdint>

#include "starling/core/types.h"

namespace starling::record {

inline constexpr Rank kNobody = -1;

enum class Activity : std::uint8_t {
  kCompute,  // forward and backward
  kUpdate,   // an optimiser step
  kWait,     // for a message of `whom`, including its time on the wire
  kMeet,     // in a collective; the analysis later tells waiting for the last one from transfer
  kServe,    // a service worked for `whom`
  kCode,     // a worker encoded what it sends, or decoded what it has received
  kHold,     // a service kept `whom` waiting because of `because`; may overlap anything
};

// The subject of a span of computing or meeting, if it is known.
struct Detail {
  enum class Kind : std::uint8_t { kNone, kForward, kBackward, kAllReduce, kReduceScatter, kAllGather };
  Kind kind = Kind::kNone;
  std::uint32_t step =
      0;  // the step it belongs to, counted from 1: an all-gather of step 3 may run in step 4
  std::uint32_t first = 0;  // sections [first, last) of the model
  std::uint32_t last = 0;

  bool operator==(const Detail&) const = default;
};

struct Span {
  Activity activity = Activity::kCompute;
  bool background = false;  // beside the worker's own activity, as an exchange during compute
  Rank whom = kNobody;
  Rank because = kNobody;     // kHold only
  std::uint64_t meeting = 0;  // kMeet only: the same number for all members, unique among meetings
  Time begin{};
  Time end{};
  Detail detail{};
};

}  // namespace starling::record
