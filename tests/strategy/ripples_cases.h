// Clusters and options for tests of ripples, all from a seed.
#pragma once

#include <array>
#include <cmath>
#include <string>

#include "tests/support/simulations.h"

namespace starling::strategy {

inline constexpr std::array<const char*, 4> kPolicies{"smart", "static", "random", "ready"};

inline OptionTexts random_options(const std::string& policy, Random& random) {
  OptionTexts options{{"groups", policy}};
  options["group-size"] = std::array{"0", "2", "3", "4"}[random.below(4)];
  options["period"] = std::to_string(random.between(1, 3));
  options["overlap"] = random.chance(0.5) ? "1" : "0";
  options["average"] = random.chance(0.3) ? "momentum" : "model";
  if (policy == "smart") {
    options["division"] = random.chance(0.5) ? "hosts" : "global";
    options["threshold"] = std::to_string(random.between(1, 6));
    options["lateness"] = std::array{"0", "0.5", "1", "3"}[random.below(4)];
  }
  if (policy == "ready") {
    options["window"] = std::array{"0ms", "5ms", "50ms"}[random.below(3)];
    options["weights"] = random.chance(0.3) ? "staleness" : "equal";
  }
  return options;
}

// Hosts, speeds and jitter of any kind.
inline void randomize(cluster::Cluster& cluster, Random& random) {
  const int hosts = random.between(1, static_cast<int>(cluster.workers.size()));
  for (cluster::WorkerSpec& worker : cluster.workers) {
    worker.host = random.between(0, hosts - 1);
    worker.speed = std::exp2(random.uniform() * 4 - 2);
    if (random.chance(0.5)) worker.jitter = {cluster::Jitter::Kind::kLognormal, 0.5, 0};
    if (random.chance(0.2)) worker.jitter = {cluster::Jitter::Kind::kExponential, 0, 0};
  }
}

// A message takes from nothing to several steps.
inline void randomize_links(cluster::Cluster& cluster, Random& random) {
  for (cluster::HostSpec& host : cluster.hosts) {
    host.outside = {std::pow(10, 3 + random.uniform() * 5),
                    std::chrono::milliseconds(random.between(0, 200))};
  }
}

inline void add_pauses(cluster::Cluster& cluster, Random& random) {
  for (int pause = random.between(0, 2); pause > 0; --pause) {
    const Time from(std::chrono::milliseconds(random.between(0, 2000)));
    cluster.faults.push_back({.kind = cluster::Fault::Kind::kPause,
                              .subject = random.between(0, static_cast<int>(cluster.workers.size()) - 1),
                              .from = from,
                              .to = from + std::chrono::milliseconds(random.between(1, 3000))});
  }
}

inline sim::Simulation random_simulation(const std::string& policy, std::uint64_t seed) {
  Random random(seed);
  sim::Simulation simulation =
      testing::simulation_of("ripples", random_options(policy, random), random.between(2, 8));
  simulation.seed = seed;
  simulation.steps = static_cast<std::uint64_t>(random.between(1, 8));
  simulation.evaluate_every = 1000;
  randomize(simulation.cluster, random);
  return simulation;
}

}  // namespace starling::strategy
