// summary.json: a run in numbers. Two simulated runs with the same settings give the same text, except for
// wall_seconds. docs/runs.md defines every key.
#pragma once

#include <optional>
#include <string>

#include "starling/record/run_record.h"
#include "starling/record/wait_analysis.h"

namespace starling::record {

// JSON, ended by a new line. Unknown values are null; a number reads back as the same number. `wall_seconds`
// is how long a simulated run really took; it becomes the last key if it is given.
std::string summary_json(const RunRecord& run, const WaitAnalysis& waits,
                         std::optional<double> wall_seconds = {});

// The samples of all workers together.
std::uint64_t samples_of(const RunRecord& run);

// Whether a loss is not a finite number.
bool diverged(const RunRecord& run);

}  // namespace starling::record
