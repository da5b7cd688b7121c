// The analysis over the number of workers.
#pragma once

#include <string>
#include <vector>

#include "cli/analyse/analyse_simulation.h"

namespace starling::cli {

// An SVG picture of samples per second, as parts of what workers that never wait would do: a line for each
// row that has a formula, two for one with bounds, from 2 workers to those of the plan. `simulated` are marks
// at the end.
std::string analysis_picture(const AnalysePlan& plan, const std::vector<AnalysisRow>& rows,
                             const std::vector<SimulatedTimes>& simulated);

}  // namespace starling::cli
