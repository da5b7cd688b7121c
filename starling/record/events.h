// events.jsonl: the journals as they are, one JSON object per line, for those who want to compute their own.
#pragma once

#include <iosfwd>

#include "starling/record/run_record.h"

namespace starling::record {

// The spans by rank, then by the time of their begin; after them the points of the loss curve by time.
// Whether all could be written is the stream's to tell.
void write_events(std::ostream& out, const RunRecord& run);

}  // namespace starling::record
