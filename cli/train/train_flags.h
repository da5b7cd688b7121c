// The flags of `starling train`.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/flag.h"
#include "cli/common/optimizer_flags.h"
#include "starling/cluster/cluster_flags.h"
#include "starling/optim/schedule.h"
#include "starling/record/record_plan.h"

namespace starling::cli {

// As given: each value is checked for itself, and plan_training checks what goes together.
struct TrainFlags {
  std::string strategy = "allreduce";
  std::vector<std::string> strategy_flags;
  Given<long long> workers;
  Given<std::uint64_t> servers;
  Given<std::uint64_t> threads;
  cluster::ClusterFlags cluster;  // without the workers
  Given<bool> on_loss;
  Given<transport::Link> link;
  Given<Duration> pace;

  std::string model = "cnn";
  std::string data = "glyphs";
  std::string shards = "equal";
  Given<std::uint64_t> batch;
  OptimizerFlags optimizer;
  std::string nonfinite = "skip";
  Given<optim::WarmUp> warmup;
  std::string schedule = "constant";
  Given<double> lr_power, lr_end;

  Given<std::uint64_t> epochs, steps;
  Given<double> max_seconds, target_loss, target_accuracy;
  bool no_stop = false;
  std::optional<std::string> eval;
  Given<Duration> eval_every;
  Given<std::uint64_t> eval_points;
  Given<std::uint64_t> check_sync, checkpoint_every;
  std::optional<std::string> resume, out;
  Given<record::RecordPlan> record;
  Given<std::uint64_t> seed;
  bool force = false;
  bool json = false;

  bool launched = false;  // not a flag: this process is one of the workers, started by another launcher
};

void add_train_flags(CLI::App& command, TrainFlags& flags);

}  // namespace starling::cli
