// The plan of `starling simulate`: from the words of the command line to a simulation.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/flag.h"
#include "cli/common/optimizer_flags.h"
#include "starling/cluster/cluster_flags.h"
#include "starling/sim/simulation.h"

namespace starling::cli {

// As given: each value is checked for itself, and plan_simulation checks what goes together.
struct SimulateFlags {
  std::string strategy = "allreduce";
  std::vector<std::string> strategy_flags;
  Given<long long> workers;
  cluster::ClusterFlags cluster;  // without the workers
  Given<bool> on_loss;

  std::string workload = "quadratic";
  Given<std::uint64_t> params, batch, data_seed;
  Given<double> noise;
  Given<Duration> step_time;
  Given<Duration> pass_overhead;

  OptimizerFlags optimizer;
  std::optional<std::string> nonfinite;

  Given<std::uint64_t> steps;
  Given<Duration> time;
  Given<double> target_loss, target_accuracy;
  bool stop_at_target = false;
  Given<std::uint64_t> eval_steps;

  Given<std::uint64_t> seed;
  Given<std::vector<std::uint64_t>> seeds;

  std::optional<std::string> out;
  Given<record::RecordPlan> record;
  bool force = false;
  bool json = false;
};

void add_simulate_flags(CLI::App& command, SimulateFlags& flags);

struct SimulatePlan {
  sim::Simulation simulation;
  RateOfWorkers rate;                // what the learning rate of the simulation was made of
  std::string workload;              // its name
  std::vector<std::uint64_t> seeds;  // one, unless it is a study
  bool study = false;                // over seeds
  std::optional<std::string> out;
  bool force = false;
  bool json = false;
};

// `own_flags` for suggestions. InvalidArgument for everything that is wrong, also for a flag that would
// change nothing and for a run that needs more than `memory` bytes.
SimulatePlan plan_simulation(const SimulateFlags& flags, const std::vector<std::string>& own_flags,
                             std::size_t memory);

// The least size of the run's files.
std::uint64_t least_bytes(const SimulatePlan& plan);

// The first worker that ended otherwise than it should have and was not meant to; empty if there is none.
std::string unplanned_end(const SimulatePlan& plan, const record::RunRecord& run);

}  // namespace starling::cli
