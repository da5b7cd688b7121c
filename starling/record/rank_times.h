// What a rank did with its time, in sums.
#pragma once

#include <cstdint>
#include <vector>

#include "starling/record/span.h"

namespace starling::record {

struct WaitedFor {
  Rank whom = kNobody;
  Duration time{};
};

// Between a rank's begin and end and without background, so that the sum of the six never exceeds end -
// begin.
struct RankTimes {
  Duration computing{};
  Duration updating{};
  Duration waiting{};
  Duration transferring{};
  Duration serving{};
  Duration coding{};
  std::vector<WaitedFor> waited_for;  // by rank; adds up to `waiting`
  Rank most_waited_for = kNobody;     // the lowest of equals
  Duration blame{};  // how long the workers waited for this rank; ranks that only serve do not count
  // Waiting or transferring, and it is not known which of the two: the spans came too late, or were lost with
  // the rank that had them.
  Duration unattributed{};

  // Adds the times of another part of the run, without those that the analysis concludes from the sums:
  // `most_waited_for` and `blame`.
  void add(const RankTimes& other);
};

// Spans of a rank that were replaced by their sums. The times are the same on all ranks.
struct FoldedSpans {
  Time from{};
  Time to{};
  std::uint64_t spans = 0;
  std::uint64_t missing = 0;  // handed over and never seen again
  RankTimes times;

  bool any() const { return to > from; }
};

}  // namespace starling::record
