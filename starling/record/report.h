// A run as a table and a few lines for the terminal.
#pragma once

#include <string>

#include "starling/record/run_record.h"
#include "starling/record/wait_analysis.h"

namespace starling::record {

// Plain text, ended by a new line. With more than 24 workers it shows the first and last few and the one that
// is waited for most.
std::string report_text(const RunRecord& run, const WaitAnalysis& waits);

}  // namespace starling::record
