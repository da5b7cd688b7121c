// The plan of a training as JSON, which the launcher hands to its workers: they parse no flags.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/train/train_plan.h"

namespace starling::cli {

// Numbers come back with the same bits. The data set is not part of it: plan.data names it.
nlohmann::json to_json(const TrainPlan& plan);
// Error if the text is not what to_json makes.
TrainPlan plan_from_json(const nlohmann::json& json);

nlohmann::json to_json(const torch::TrainOptions& setting);
torch::TrainOptions options_from_json(const nlohmann::json& json);

// An open file without a name, which processes started later inherit. It lives as long as this process.
int open_plan(const TrainPlan& plan);
// In such a process.
TrainPlan read_plan(int descriptor);

}  // namespace starling::cli
