// What is refused before the work of `starling simulate` although each flag for itself is fine.
#pragma once

#include <cstddef>

#include "cli/simulate/simulate_plan.h"

namespace starling::cli {

// A flag that would change nothing: who gave it expects otherwise.
void check_use(const SimulateText& text);

// Models, and notes of all steps, that would not fit into so many bytes.
void check_memory(const sim::Simulation& simulation, std::size_t parameters, std::size_t memory);

// Targets that cannot be reached.
void check_targets(const sim::Simulation& simulation, const std::string& workload);

// How many steps all workers make together, if nothing but --steps ends the run.
std::optional<double> known_steps(const sim::Simulation& simulation);

}  // namespace starling::cli
