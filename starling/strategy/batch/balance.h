// Batches in proportion to speed: the global batch, n times a worker's, stays what it is, and each worker
// gets the part of it with which all finish at the same time.
//
//   b_i = B v_i / sum_j v_j      v_i = samples per second of worker i, B = samples of the global batch
//
// Gradients are weighted by samples, so an update is that of synchronous SGD with this global batch, and no
// worker waits for a slower one. After a step the workers tell each other what a sample takes them
// (speed_estimate.h); all compute the same parts from the same numbers. Parts change when one of them is off
// by more than a few percent, so that jitter does not move them all the time.
//
// A worker may have a limit, for its memory; the rest goes to the others. Every worker gets at least a
// sample. The part of a worker that is lost goes to the others with the next division.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "starling/strategy/agreed_exchange.h"
#include "starling/strategy/batch/batch_parts.h"
#include "starling/strategy/batch/speed_estimate.h"
#include "starling/strategy/options.h"

namespace starling::strategy {

struct BalanceRules {
  bool by_speed = false;
  std::vector<double> most = {};  // samples, by worker; 0: any number
};

// With "balance" and "max-batch" behind these options. `condition` is that of both: "mode=bsp".
std::vector<OptionSpec> balanced(std::vector<OptionSpec> options, const std::string& condition = "");
// InvalidArgument, naming the strategy, for limits that cannot be read.
BalanceRules balance_rules(const Options& options, const std::string& strategy, int workers);

// What a sample takes this worker, by its own steps.
class WorkerSpeed {
 public:
  // One per worker and run, from its strategy. It is a part of checkpoints.
  explicit WorkerSpeed(Worker& self);
  // Once after each step.
  void step_computed();
  std::uint64_t steps() const { return now_.steps; }
  // Below 0: not known yet.
  double seconds() const { return now_.estimate.known() ? now_.estimate.seconds() : -1; }

 private:
  struct Progress {
    std::uint64_t steps = 0;
    SpeedEstimate estimate;
  };

  Worker& self_;
  Progress now_;
  Duration computed_before_{};
};

class BatchBalance {
 public:
  // One per worker and run, from its strategy. Does nothing unless the rules say so.
  BatchBalance(Worker& self, AgreedExchange& agreed, const BalanceRules& rules);

  // For the worker's steps, before each.
  void plan(StepPlan& plan) const;
  // After each step, on all workers: they tell each other their speeds.
  Task<> step_computed();

 private:
  Worker& self_;
  AgreedExchange& agreed_;
  BatchParts parts_;
  std::optional<WorkerSpeed> speed_;  // none: the rules do not say so
  Buffer numbers_;                    // seconds of a sample by worker, then the samples of the step
};

}  // namespace starling::strategy
