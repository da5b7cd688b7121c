// A launcher's wishes for the programs that it starts, besides their training: files, an end, progress.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "starling/core/types.h"
#include "starling/join/environment.h"

namespace starling::join {

struct OutputOptions {
  std::string out = {};                     // the run's folder; empty: the run leaves nothing
  std::uint64_t checkpoint_every = 0;       // steps of each worker; 0: never
  std::string resume = {};                  // the folder of a run to go on from; empty: from the beginning
  std::optional<std::uint64_t> steps = {};  // of each worker
  std::optional<Duration> max_time = {};    // no step begins later
  std::string record = {};                  // how much is recorded, as `--record` takes it; empty: not said
  bool progress = false;                    // rank 0 writes progress lines to stderr

  friend bool operator==(const OutputOptions&, const OutputOptions&) = default;
};

// A progress line begins with this, so that the launcher can tell it from the program's own output.
inline constexpr std::string_view kProgressPrefix = "starling: progress: ";

// Reads STARLING_OUT, STARLING_CHECKPOINT_EVERY, STARLING_RESUME, STARLING_RECORD, STARLING_STEPS,
// STARLING_MAX_SECONDS and STARLING_PROGRESS ("on" or "off"). InvalidArgument naming the variable.
OutputOptions read_output_options(const EnvironmentVariables& variables);

// The variables that make another process read this.
std::vector<std::pair<std::string, std::string>> variables_of(const OutputOptions& options);

}  // namespace starling::join
