// The plan of `starling train`: from the values of its flags to a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/train/train_flags.h"
#include "starling/strategy/registry.h"
#include "starling/torch/train_options.h"
#include "starling/transport/link.h"

namespace starling::cli {

struct TrainPlan {
  torch::TrainOptions setting;  // without the data, which the workers load
  RateOfWorkers rate;           // what the learning rate of the settings was made of
  const strategy::StrategyEntry* strategy = nullptr;
  strategy::OptionTexts options;
  int workers = 4;
  std::optional<bool> end_on_loss;  // for the launcher, which tells the workers
  std::optional<transport::Link> link;
  std::string data;  // its name
  std::optional<std::string> out;
  bool force = false;
  bool json = false;
};

// `own_flags` for suggestions. InvalidArgument for everything that is wrong, also for a flag that would
// change nothing, and for data whose files are missing, damaged or do not fit the other flags. Holds no data.
TrainPlan plan_training(const TrainFlags& flags, const std::vector<std::string>& own_flags);
// Without a look at the data, which may be other files on other hosts: what is refused here is refused
// everywhere.
TrainPlan plan_flags(const TrainFlags& flags, const std::vector<std::string>& own_flags);
// The options of the strategy that is named.
strategy::OptionTexts strategy_options(const TrainFlags& flags, const std::vector<std::string>& own_flags);

// Refuses a checkpoint to continue from that is missing, damaged or of another run.
void check_resume(const TrainPlan& plan);

// In a worker: the data set, which becomes part of the plan's settings. InvalidArgument as above.
void load_data(TrainPlan& plan);

}  // namespace starling::cli
