// The facts that all ranks of a simulated run share.
#pragma once

#include <memory>
#include <vector>

#include "starling/sim/simulation.h"
#include "starling/strategy/run_info.h"

namespace starling::sim {

// Streams of random numbers of a run, so that the draws of one part do not disturb another.
enum Stream : std::uint64_t { kEvents = 1, kModel, kStrategy, kJitter, kData, kSpread };

struct Blueprint {
  strategy::RunInfo place;
  std::vector<cluster::HostSpec> hosts;  // including the host of the service
  const Workload* workload = nullptr;
  StepTimes times;          // at speed 1
  double pass_seconds = 0;  // the same
  bool equal_batches = true;

  int ranks() const { return static_cast<int>(place.host_of_rank.size()); }
};

Blueprint make_blueprint(const Simulation& simulation, strategy::Placement service);

// Checks its options and whether it accepts workers that join later.
std::unique_ptr<strategy::Strategy> make_strategy(const Simulation& simulation);

}  // namespace starling::sim
