// The files that a run of a user's own program leaves: `starling launch --out DIR -- ./program`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/common/flag.h"
#include "starling/launch/launcher.h"
#include "starling/record/record_plan.h"

namespace starling::cli {

struct LaunchOutputFlags {
  std::optional<std::string> out, resume;
  Given<record::RecordPlan> record;
  bool force = false;
  Given<std::uint64_t> checkpoint_every;
  Given<std::uint64_t> steps;
  Given<double> max_seconds;
};

void add_output_flags(CLI::App& command, LaunchOutputFlags& flags);

// InvalidArgument for flags that do not go together, and if there is no checkpoint to resume from.
join::OutputOptions plan_output(const LaunchOutputFlags& flags);

// Creates the folder, if there is to be one, and says in run.json what is started.
void open_run_folder(const launch::LaunchPlan& plan, bool force, const std::vector<std::string>& words);

}  // namespace starling::cli
