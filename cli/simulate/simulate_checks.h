// Checks of what `starling simulate` was asked for that concern several flags.
#pragma once

#include <cstddef>

#include "cli/simulate/simulate_plan.h"

namespace starling::cli {

// Refuses a flag that would change nothing.
void check_use(const SimulateFlags& flags);

// Refuses models, and records, that do not fit into so many bytes.
void check_memory(const sim::Simulation& simulation, std::size_t parameters, std::size_t memory);

// Refuses targets that cannot be reached.
void check_targets(const sim::Simulation& simulation, const std::string& workload);

// How many steps all workers make together, if nothing but --steps ends the run.
std::optional<double> known_steps(const sim::Simulation& simulation);
// How many spans its record has at least, of all workers together.
double least_spans(const sim::Simulation& simulation);

}  // namespace starling::cli
