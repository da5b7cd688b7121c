// run.json: what a run was asked to do, complete enough to do it again.
#pragma once

#include <string>

#include "cli/simulate_plan.h"

namespace starling::cli {

// `flags` are the flags that were given, a line each.
std::string config_json(const SimulatePlan& plan, const std::string& flags);

}  // namespace starling::cli
