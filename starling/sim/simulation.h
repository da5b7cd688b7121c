// A run on virtual time: a strategy, a cluster, something to train, and when to stop. The same simulation
// gives the same bits, in any build.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "starling/cluster/cluster.h"
#include "starling/optim/optimizer.h"
#include "starling/record/run_record.h"
#include "starling/sim/workload.h"
#include "starling/strategy/registry.h"

namespace starling::sim {

// Looks at a running simulation. Nothing it does changes the run; but what a strategy has under way between
// two steps arrives before a look at the models, as it does before an evaluation.
class Observer {
 public:
  virtual ~Observer() = default;
  // False: it does not look at the models, so nobody waits for what is under way before step_begins().
  virtual bool looks_at_models() const { return true; }
  // All workers' models, by rank; a dead worker's is as it left it.
  using Models = std::span<const std::span<const float>>;
  // The worker begins its next step, its `step`-th.
  virtual void step_begins(Rank /*worker*/, std::uint64_t /*step*/, Time /*now*/, Models /*models*/) {}
  // The gradient of the step is there; it has not been used yet.
  virtual void step_computed(Rank /*worker*/, std::uint64_t /*step*/, Time /*now*/) {}
  virtual void evaluated(const record::LossPoint& /*point*/) {}
  // The run is over.
  virtual void ends(Models /*models*/) {}
};

struct Simulation {
  const strategy::StrategyEntry* strategy = nullptr;
  strategy::OptionTexts options;
  cluster::Cluster cluster;
  std::shared_ptr<const Workload> workload;
  optim::OptimizerSpec optimizer;
  double spread = 0;          // standard deviation by which workers' first models differ, each element
  double step_seconds = 0.1;  // of a worker of speed 1; not used where the workload has its own times

  // The run ends for a worker after so many steps, or with the first step that would begin after this time.
  // Where the strategy counts steps together, all workers end after the same step.
  std::uint64_t steps = 100;
  Time until = Time(kForever);

  std::uint64_t evaluate_every = 1;  // steps of each worker, on average
  std::optional<double> target_loss;
  std::optional<double> target_accuracy;
  bool stop_at_target = false;

  std::uint64_t seed = 1;
  Observer* observer = nullptr;
};

// InvalidArgument for a simulation that cannot be: options that the strategy refuses, workers that join later
// where the strategy does not take them.
void check(const Simulation& simulation);

// Throws what check() does, Deadlock with the scheduler's report, and whatever a
// strategy throws but PeerLost, which is the end of that worker and is in its record.
record::RunRecord simulate(const Simulation& simulation);

}  // namespace starling::sim
