// Finds out from the journals of a run which rank waited for which.
//
// In a meeting every rank waits for the last one to arrive; the rest of it is transfer. For a wait for j the
// analysis examines j: while j worked, j is waited for; while j itself waited for k, so is k, and k is
// examined in turn; while j's service held the waiting rank because of k, k is waited for. The rest is
// transfer: the message was on its way, or the chain came back to a rank that is already in it.
#pragma once

#include <optional>
#include <vector>

#include "starling/record/rank_times.h"
#include "starling/record/resolved_span.h"
#include "starling/record/run_record.h"

namespace starling::record {

struct WaitAnalysis {
  std::vector<RankTimes> ranks;
  // The spans of each rank: its own by time and without overlap, then those of the background by time.
  //
  // Where a rank waited for a service that often interrupted its work meanwhile, the waiting is one span and
  // the transfer another after it; their lengths are right.
  std::vector<std::vector<ResolvedSpan>> pieces;
  std::optional<Rank> most_waited_for;  // most blame, the lowest of equals; none if nobody waited
};

// Sums of the whole run, folded spans included; pieces of the spans that were kept. Error unless the ranks of
// the run are 0, 1, 2, ...
WaitAnalysis analyse_waits(const RunRecord& run);

// The times of each rank in [from, to), from the spans alone. All spans that reach into that time must be
// here. No rank is to blame yet.
std::vector<RankTimes> times_between(const RunRecord& run, Time from, Time to);

}  // namespace starling::record
