// Every registry entry with every variant that it names, and random simulations of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "starling/core/error.h"
#include "starling/core/random.h"
#include "tests/support/simulations.h"

namespace starling::strategy {

struct RegisteredCase {
  const StrategyEntry* row = nullptr;
  OptionTexts options;
};

inline Options options_of(const RegisteredCase& which) {
  return Options::parse(which.row->options, which.row->name, which.options);
}

// Some variants need more workers than there are.
inline bool possible(const RegisteredCase& which, int workers) {
  try {
    which.row->make(options_of(which), workers);
    return true;
  } catch (const InvalidArgument&) {
    return false;
  }
}

template <class Wanted>
std::vector<RegisteredCase> cases_where(Wanted wanted) {
  std::vector<RegisteredCase> cases;
  for (const StrategyEntry& row : registry()) {
    for (const OptionTexts& options : row.variants) {
      if (RegisteredCase which{&row, options}; wanted(which)) cases.push_back(std::move(which));
    }
  }
  return cases;
}

inline std::string case_name(const ::testing::TestParamInfo<RegisteredCase>& info) {
  std::string name = info.param.row->name;
  for (const auto& [option, value] : info.param.options) name += concat("_", option, "_", value);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

// Random speeds, jitter, pauses, hosts and sizes; all from the seed.
inline sim::Simulation random_simulation_of(const RegisteredCase& which, std::uint64_t seed) {
  Random random(seed);
  const int workers = random.between(2, 8);
  sim::Simulation simulation = testing::simulation_of(*which.row, which.options, workers);
  simulation.seed = seed;
  simulation.steps = static_cast<std::uint64_t>(random.between(1, 12));
  const int hosts = needs_one_host(*which.row, options_of(which)) ? 1 : random.between(1, workers);
  for (cluster::WorkerSpec& worker : simulation.cluster.workers) {
    worker.host = random.between(0, hosts - 1);
    worker.speed = std::exp2(random.uniform() * 4 - 2);
    if (random.chance(0.5)) worker.jitter = {cluster::Jitter::Kind::kLognormal, 0.5, 0};
    if (random.chance(0.2)) worker.jitter = {cluster::Jitter::Kind::kExponential, 0, 0};
  }
  for (int pause = random.between(0, 2); pause > 0; --pause) {
    const Time from(std::chrono::milliseconds(random.between(0, 2000)));
    simulation.cluster.faults.push_back({.kind = cluster::Fault::Kind::kPause,
                                         .subject = random.between(0, workers - 1),
                                         .from = from,
                                         .to = from + std::chrono::milliseconds(random.between(1, 3000))});
  }
  return simulation;
}

}  // namespace starling::strategy
