// What `starling train` was asked for: from the words of the command line to a run.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "starling/cluster/cluster_flags.h"
#include "starling/strategy/registry.h"
#include "starling/torch/train_options.h"
#include "starling/transport/link.h"

namespace starling::cli {

// As given; checked by plan_training. None: not given.
struct TrainText {
  using Given = std::optional<std::string>;

  std::string strategy = "allreduce";
  std::vector<std::string> strategy_flags;
  Given servers;
  cluster::ClusterFlags cluster;
  Given link;
  Given pace;

  std::string model = "cnn";
  std::string data = "glyphs";
  std::string shards = "equal";
  std::string batch = "32";
  Given optimizer;
  Given lr;
  Given momentum;
  bool nesterov = false;
  Given weight_decay;
  Given clip_norm;
  Given warmup;
  std::string schedule = "constant";
  std::string threads = "1";

  Given epochs;
  Given steps;
  Given max_seconds;
  Given target_loss;
  Given target_accuracy;
  bool no_stop = false;
  Given eval;
  Given eval_every;
  Given eval_points;
  Given check_sync;
  Given checkpoint_every;
  Given resume;
  std::string seed = "1";
  Given out;
  bool force = false;
  bool json = false;
  bool launched = false;  // as one of the workers; somebody has looked at everything already
  bool plain = false;     // hidden: of starling-trainer, for `starling bench train`
};

void add_train_flags(CLI::App& command, TrainText& text);

struct TrainPlan {
  torch::TrainOptions setting;
  const strategy::StrategyEntry* strategy = nullptr;
  strategy::OptionTexts options;
  int workers = 4;
  std::optional<transport::Link> link;
  std::string data;  // its name
  std::optional<std::string> out;
  bool force = false;
  bool json = false;
  bool launched = false;
  bool plain = false;  // no run but loops without Starling
};

// `own_flags` for suggestions. InvalidArgument for everything that is wrong, also for a flag that would
// change nothing, and for data that cannot be read.
TrainPlan plan_training(const TrainText& text, const std::vector<std::string>& own_flags);
// Without the data, which may be other files on other hosts: what is refused here is refused everywhere.
TrainPlan plan_flags(const TrainText& text, const std::vector<std::string>& own_flags);
// The options of the strategy that is named.
strategy::OptionTexts strategy_options(const TrainText& text, const std::vector<std::string>& own_flags);

}  // namespace starling::cli
