// Who waited for whom, found out from the journals of a run.
//
// In a meeting everybody waits for the last one to come; the rest of it is transfer. A wait for j is looked
// into: while j worked, j is waited for; while j itself waited for k, so is k, and what k did is looked into
// in turn; while j's service held the waiting one because of k, k is. All else is transfer if j was to send a
// message: it was on its way, or the chain came back to somebody already in it.
#pragma once

#include <optional>
#include <vector>

#include "starling/record/resolved_span.h"
#include "starling/record/run_record.h"

namespace starling::record {

struct WaitedFor {
  Rank whom = kNobody;
  Duration time{};
};

// Between a rank's begin and end and without what went on in the background, so that the sum of the five
// never exceeds end - begin.
struct RankTimes {
  Duration computing{};
  Duration updating{};
  Duration waiting{};
  Duration transferring{};
  Duration serving{};
  std::vector<WaitedFor> waited_for;  // by rank; adds up to `waiting`
  Rank most_waited_for = kNobody;     // the lowest of equals
  Duration blame{};  // what the workers waited for this rank; those that only serve do not count
};

struct WaitAnalysis {
  std::vector<RankTimes> ranks;
  // Of each rank, its own by time and without overlap, then those of the background by time.
  //
  // Where somebody waited for a service that took up and laid down its work very often meanwhile, the waiting
  // is one piece and the transfer another after it; their lengths are right.
  std::vector<std::vector<ResolvedSpan>> pieces;
  std::optional<Rank> most_waited_for;  // most blame, the lowest of equals; none if nobody waited
};

// Error unless the ranks of the run are 0, 1, 2, ...
WaitAnalysis analyse_waits(const RunRecord& run);

}  // namespace starling::record
