// What all ranks of a simulated run have in common.
#pragma once

#include <memory>
#include <vector>

#include "starling/collective/collective.h"
#include "starling/sim/simulation.h"

namespace starling::sim {

// Streams of random numbers of a run, so that what one part draws does not disturb another.
enum Stream : std::uint64_t { kEvents = 1, kModel, kStrategy, kJitter, kData, kSpread };

struct Blueprint {
  int workers = 1;
  collective::SharedGroup everyone{0};  // one list for all ranks
  Rank server = 0;
  std::vector<HostSpec> hosts;  // with that of the service
  std::vector<int> host_of_rank;
  std::vector<bool> starts;  // by worker
  const Workload* workload = nullptr;
  optim::OptimizerSpec optimizer;
  StepTimes times;                   // at speed 1
  std::vector<float> initial_model;  // empty if ghost

  int ranks() const { return static_cast<int>(host_of_rank.size()); }
};

Blueprint make_blueprint(const Simulation& simulation, strategy::Placement service);

// Checks its options and whether it takes workers that join later.
std::unique_ptr<strategy::Strategy> make_strategy(const Simulation& simulation);

}  // namespace starling::sim
