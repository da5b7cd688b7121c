// A run on virtual time: a strategy, a cluster, a workload, and when to stop. The same simulation gives the
// same bits, in any build.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "starling/cluster/cluster.h"
#include "starling/membership/view.h"
#include "starling/optim/optimizer.h"
#include "starling/record/run_record.h"
#include "starling/sim/workload.h"
#include "starling/strategy/gradient_check.h"
#include "starling/strategy/registry.h"

namespace starling::sim {

// Looks at a running simulation without changing it; but transfers of a strategy that are in progress between
// two steps arrive before a look at the models, as they do before an evaluation.
class Observer {
 public:
  virtual ~Observer() = default;
  // False: it does not look at the models, so step_begins() is called without waiting for transfers in
  // progress.
  virtual bool looks_at_models() const { return true; }
  // All workers' models, by rank; a dead worker's is as it was.
  using Models = std::span<const std::span<const float>>;
  // The worker begins its next step, its `step`-th.
  virtual void step_begins(Rank /*worker*/, std::uint64_t /*step*/, Time /*now*/, Models /*models*/) {}
  // The gradient of the step is ready; it has not been used yet.
  virtual void step_computed(Rank /*worker*/, std::uint64_t /*step*/, Time /*now*/) {}
  virtual void evaluated(const record::LossPoint& /*point*/) {}
  // The worker has a new view of the run's members.
  virtual void view_changes(Rank /*worker*/, const membership::View& /*view*/) {}
  // The run is over.
  virtual void ends(Models /*models*/) {}
};

struct Simulation {
  const strategy::StrategyEntry* strategy = nullptr;
  strategy::OptionTexts options;
  cluster::Cluster cluster;
  bool end_on_loss = false;  // a killed worker ends the run where the strategy needs all of them
  std::shared_ptr<const Workload> workload;
  optim::OptimizerSpec optimizer;
  strategy::NonFinite nonfinite = strategy::NonFinite::kApply;
  double spread = 0;          // standard deviation by which workers' first models differ, each element
  double step_seconds = 0.1;  // of a worker of speed 1; unused where the workload has its own times
  double pass_seconds = 0;    // of the same: what a pass over any number of samples takes besides

  // The run ends for a worker after so many steps, or with the first step that would begin after this time.
  // Where the strategy counts steps together, all workers end after the same step.
  std::uint64_t steps = 100;
  Time until = Time(kForever);

  std::uint64_t evaluate_every = 1;  // steps of each worker, on average
  std::optional<double> target_loss;
  std::optional<double> target_accuracy;
  bool stop_at_target = false;

  // Ranks of different hosts miss each other after this time. A stopped rank is killed after its own, if
  // another of its host runs. A part of the workers that is too small to go on waits for so long.
  Duration silence_limit = std::chrono::seconds(5);
  Duration stall_limit = std::chrono::seconds(20);
  Duration majority_patience = std::chrono::minutes(5);

  record::RecordPlan record;

  std::uint64_t seed = 1;
  Observer* observer = nullptr;
};

// InvalidArgument for an impossible simulation: options that the strategy refuses, workers that join later
// where the strategy does not accept them.
void check(const Simulation& simulation);

// Throws what check() does, Deadlock with the scheduler's report, and whatever a strategy throws except
// PeerLost, which ends that worker and is in its record.
record::RunRecord simulate(const Simulation& simulation);

}  // namespace starling::sim
