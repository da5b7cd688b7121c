// What a rank did when. Both worlds write these; the analysis, the summary and the trace read them.
#pragma once

#include <cstdint>

#include "starling/core/types.h"

namespace starling::record {

inline constexpr Rank kNobody = -1;

enum class Activity : std::uint8_t {
  kCompute,  // forward and backward
  kUpdate,   // an optimiser step
  kWait,     // for a message of `whom`, its time on the wire included
  kMeet,     // in a collective; how long for the last one to come and how long for bytes is found out later
  kServe,    // a service worked for `whom`
  kHold,     // a service kept `whom` waiting because of `because`; may overlap anything
};

// What a span of computing or meeting was about, where that is told.
struct Detail {
  enum class Kind : std::uint8_t { kNone, kForward, kBackward, kAllReduce, kReduceScatter, kAllGather };
  Kind kind = Kind::kNone;
  std::uint32_t step = 0;   // that it belongs to, counted from 1: an all-gather of step 3 may go on in step 4
  std::uint32_t first = 0;  // sections [first, last) of the model
  std::uint32_t last = 0;

  bool operator==(const Detail&) const = default;
};

struct Span {
  Activity activity = Activity::kCompute;
  bool background = false;  // went on beside the worker's own doing, as an exchange during compute does
  Rank whom = kNobody;
  Rank because = kNobody;     // kHold only
  std::uint64_t meeting = 0;  // kMeet only: the same number for all who meet, no other meeting has it
  Time begin{};
  Time end{};
  Detail detail{};
};

}  // namespace starling::record
