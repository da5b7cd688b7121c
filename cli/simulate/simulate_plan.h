// What `starling simulate` was asked for: from the words of the command line to a simulation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "starling/cluster/cluster_flags.h"
#include "starling/sim/simulation.h"

namespace starling::cli {

// As given; checked by plan_simulation. None: not given, which is not the same as an empty text.
struct SimulateText {
  using Given = std::optional<std::string>;

  std::string strategy = "allreduce";
  std::vector<std::string> strategy_flags;
  cluster::ClusterFlags cluster;

  std::string workload = "quadratic";
  Given params;
  Given batch;
  Given noise;
  Given data_seed;
  Given step_time;

  std::string optimizer = "sgd";
  std::string lr = "0.1";
  Given momentum;
  std::string weight_decay = "0";
  std::string clip_norm = "0";
  bool nesterov = false;

  Given steps;
  Given time;
  Given target_loss;
  Given target_accuracy;
  bool stop_at_target = false;
  std::string eval_every = "1";

  Given seed;
  Given seeds;

  Given out;
  bool force = false;
  bool json = false;
};

struct SimulatePlan {
  sim::Simulation simulation;
  std::string workload;              // its name
  std::vector<std::uint64_t> seeds;  // one, unless it is a study
  bool study = false;                // over seeds
  std::optional<std::string> out;
  bool force = false;
  bool json = false;
};

// `own_flags` for suggestions. InvalidArgument for everything that is wrong, also for a flag that would
// change nothing and for a run that needs more than `memory` bytes.
SimulatePlan plan_simulation(const SimulateText& text, const std::vector<std::string>& own_flags,
                             std::size_t memory);

// What the files of the run will hold at least.
std::uint64_t least_bytes(const SimulatePlan& plan);

// The first worker that ended otherwise than it should have and was not meant to; empty if there is none.
std::string unplanned_end(const SimulatePlan& plan, const record::RunRecord& run);

}  // namespace starling::cli
