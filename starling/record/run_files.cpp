#include "starling/record/run_files.h"

#include "starling/core/error.h"
#include "starling/record/events.h"
#include "starling/record/trace.h"

namespace starling::record {

std::vector<std::string> write_run_files(const RunFolder& folder, const RunRecord& run,
                                         const WaitAnalysis& waits, std::string_view summary) {
  std::vector<std::string> failures;
  const auto attempt = [&](std::string_view name, const auto& contents) {
    try {
      folder.write(name, contents);
    } catch (const Error& error) {
      failures.emplace_back(error.what());
    }
  };
  if (run.record == RecordMode::kOff) return failures;
  attempt("summary.json", summary);
  if (run.record == RecordMode::kSummary) return failures;
  attempt("events.jsonl", [&](std::ostream& out) { write_events(out, run); });
  attempt("trace.json", [&](std::ostream& out) { write_trace(out, run, waits); });
  return failures;
}

}  // namespace starling::record
