#include "starling/record/run_files.h"

#include "starling/record/events.h"
#include "starling/record/summary.h"
#include "starling/record/trace.h"
#include "starling/record/wait_analysis.h"

namespace starling::record {

std::string write_run_files(const RunFolder& folder, const RunRecord& run) {
  const WaitAnalysis waits = analyse_waits(run);
  folder.write("events.jsonl", [&](std::ostream& out) { write_events(out, run); });
  folder.write("trace.json", [&](std::ostream& out) { write_trace(out, run, waits); });
  std::string summary = summary_json(run, waits);
  folder.write("summary.json", summary);
  return summary;
}

}  // namespace starling::record
