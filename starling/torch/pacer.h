// A worker that is slower than it could be, to try what unequal machines do: its gradient is computed for
// real, then it sleeps up to the time that the step is meant to take. Sleeping costs no core, as the work of
// an accelerator costs none, so many paced workers fit on few cores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "starling/sim/cluster.h"
#include "starling/sim/pace.h"

namespace starling::torch {

class Pacer {
 public:
  // `step` is what a step takes on a worker of speed 1; without it, what it took to compute the gradient.
  Pacer(const sim::Cluster& cluster, Rank worker, std::optional<Duration> step, Random random);

  // Before the gradient is computed. Times count from the beginning of the run. Kills this process if its
  // time has come.
  void begin(Time now);
  // After it: sleeps.
  void end(Time now);

  // If the pace was too short for the machine: a line that says so. Empty otherwise.
  std::string complaint() const;

 private:
  sim::Pace pace_;
  sim::Jitter jitter_;
  std::optional<Time> dies_;
  std::optional<Duration> step_;
  Random random_;
  Rank worker_;
  Time begun_{};
  std::uint64_t steps_ = 0;
  std::uint64_t late_ = 0;
  Duration late_work_{};  // what the steps that came late took
};

}  // namespace starling::torch
