// The output of a run of `starling train`: its folder and its report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/train/train_plan.h"
#include "starling/data/safetensors.h"
#include "starling/record/run_folder.h"
#include "starling/record/run_record.h"

namespace starling::cli {

// Exit codes of a worker that are about the run.
inline constexpr int kBadInput = 2, kDiverged = 3;

// Checks --out, creates the folder and writes run.json. None without --out.
std::optional<record::RunFolder> open_run_folder(const TrainPlan& plan,
                                                 const std::vector<std::string>& words);

// After the run: the files, and the table on standard output.
void write_run(const TrainPlan& plan, const record::RunRecord& run, const data::TensorFile& model);

}  // namespace starling::cli
