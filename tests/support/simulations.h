// Small simulations for tests: a strategy on a cluster of equal workers, and what became of the models.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "starling/sim/simulation.h"

namespace starling::testing {

using Models = std::vector<std::vector<float>>;

// A network that takes no time worth mentioning.
cluster::Link instant_link();

// Workers on hosts of their own, 10 Gbit/s between them.
cluster::Cluster equal_cluster(int workers);
cluster::Cluster instant_cluster(int workers);

// Ten steps of a noisy quadratic with 16 parameters.
sim::Simulation simulation_of(const strategy::StrategyEntry& row, const strategy::OptionTexts& options,
                              int workers);
sim::Simulation simulation_of(const std::string& strategy, const strategy::OptionTexts& options, int workers);

struct Outcome {
  record::RunRecord run;
  Models models;  // at the end, by rank
};
Outcome run_to_end(sim::Simulation simulation);

// Worker i's gradient is 1 at element i and 0 elsewhere: a model shows whose gradients went into it.
std::shared_ptr<const sim::Workload> signatures(int workers, std::size_t batch = 1);

// Trains alone: the reference.
const strategy::StrategyEntry& alone();

}  // namespace starling::testing
