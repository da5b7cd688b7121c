// run.json: what a run was asked to do, complete enough to do it again.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/simulate/simulate_plan.h"

namespace starling::cli {

// `flags` are the words behind `starling simulate`, as given.
std::string config_json(const SimulatePlan& plan, const std::vector<std::string>& flags);

// Parts that other commands have, too.
nlohmann::ordered_json cluster_json(const cluster::Cluster& cluster);
nlohmann::ordered_json optimizer_json(const optim::OptimizerSpec& spec, const RateOfWorkers& rate);

}  // namespace starling::cli
