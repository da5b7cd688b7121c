// The files that a finished run leaves in its folder, real or simulated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "starling/record/run_folder.h"
#include "starling/record/run_record.h"
#include "starling/record/wait_analysis.h"

namespace starling::record {

// Writes summary.json with this text and, if the record is full, events.jsonl and trace.json; nothing if it
// is off. A file that cannot be written, as on a full disk, does not keep the others from being written:
// returns a line about each.
std::vector<std::string> write_run_files(const RunFolder& folder, const RunRecord& run,
                                         const WaitAnalysis& waits, std::string_view summary);

}  // namespace starling::record
