// What `starling simulate` was asked for: from the words of the command line to a simulation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "starling/sim/cluster_flags.h"
#include "starling/sim/simulation.h"

namespace starling::cli {

// As given; checked by plan_simulation.
struct SimulateText {
  std::string strategy = "allreduce";
  std::vector<std::string> strategy_flags;
  sim::ClusterFlags cluster;

  std::string workload = "quadratic";
  std::string params = "100";
  std::string batch;  // empty: the workload's own
  std::string noise = "1";
  std::string data_seed = "1";
  std::string step_time = "100ms";

  std::string optimizer = "sgd";
  std::string lr = "0.1";
  std::string momentum = "0";
  std::string weight_decay = "0";
  bool nesterov = false;

  std::string steps;  // empty: 100, or as many as fit into --time
  std::string time;
  std::string target_loss;
  std::string target_accuracy;
  bool stop_at_target = false;
  std::string eval_every = "1";

  std::string seed = "1";
  std::string seeds;  // "1..100"

  std::string out;
  bool force = false;
  bool json = false;
};

struct SimulatePlan {
  sim::Simulation simulation;
  std::string workload;              // its name
  std::vector<std::uint64_t> seeds;  // more than one: a study over seeds
  std::string out;
  bool force = false;
  bool json = false;
};

// `own_flags` for suggestions. InvalidArgument.
SimulatePlan plan_simulation(const SimulateText& text, const std::vector<std::string>& own_flags);

}  // namespace starling::cli
