// The files that a finished run leaves in its folder, real or simulated.
#pragma once

#include <string>

#include "starling/record/run_folder.h"
#include "starling/record/run_record.h"

namespace starling::record {

// events.jsonl, trace.json and, last, summary.json. Returns the summary.
std::string write_run_files(const RunFolder& folder, const RunRecord& run);

}  // namespace starling::record
