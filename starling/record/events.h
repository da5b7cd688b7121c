// events.jsonl: the raw journals, one JSON object per line, for analyses of one's own.
#pragma once

#include <iosfwd>

#include "starling/record/run_record.h"

namespace starling::record {

// Writes the spans by rank, then by the time of their begin; after them the points of the loss curve by time.
// The stream's state tells whether everything was written.
void write_events(std::ostream& out, const RunRecord& run);

}  // namespace starling::record
