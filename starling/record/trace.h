// trace.json: the run as a time line for Perfetto or chrome://tracing.
//
// The format is the JSON of the Trace Event Format: complete events ("X") in microseconds, counters ("C") and
// metadata ("M").
#pragma once

#include <iosfwd>

#include "starling/record/run_record.h"
#include "starling/record/wait_analysis.h"

namespace starling::record {

// One process per rank, with one track per kind of activity. Events of one track do not overlap: background
// events have tracks of their own, as many as it takes ("transfer 2", "transfer 3"). An event with a detail
// is named after it. The loss is a counter beside the ranks. The stream's state tells whether everything was
// written.
void write_trace(std::ostream& out, const RunRecord& run, const WaitAnalysis& waits);

}  // namespace starling::record
