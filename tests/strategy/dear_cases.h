// Common parts of the simulations of the schedules.
#pragma once

#include "starling/core/text.h"
#include "starling/sim/simulation.h"
#include "tests/support/layers.h"
#include "tests/support/simulations.h"

namespace starling::testing {

// The options with these on top.
inline strategy::OptionTexts with(strategy::OptionTexts options, const strategy::OptionTexts& more) {
  for (const auto& [name, value] : more) options[name] = value;
  return options;
}

// One rank has half the speed, and all have good and bad steps.
inline void make_uneven(cluster::Cluster& cluster) {
  cluster.workers.back().speed = 0.5;
  for (cluster::WorkerSpec& worker : cluster.workers)
    worker.jitter = {cluster::Jitter::Kind::kLognormal, 0.5, 0};
}

}  // namespace starling::testing
