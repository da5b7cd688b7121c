// The analysis as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/analyse/analyse_simulation.h"

namespace starling::cli {

// `simulated` is empty, or has an entry for each row.
std::string analysis_text(const AnalysePlan& plan, const std::vector<AnalysisRow>& rows,
                          const std::vector<SimulatedTimes>& simulated);
nlohmann::ordered_json analysis_json(const AnalysePlan& plan, const std::vector<AnalysisRow>& rows,
                                     const std::vector<SimulatedTimes>& simulated);

}  // namespace starling::cli
