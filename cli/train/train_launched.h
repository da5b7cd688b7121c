// `starling train` where its workers were started by mpirun, srun, torchrun or `starling launch`: every
// process becomes one of them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/train/train_plan.h"
#include "starling/join/environment.h"

namespace starling::cli {

// The facts that make this process a worker, besides its flags.
struct TrainLaunched {
  Rank rank = 0;
  std::vector<std::pair<std::string, std::string>> variables;
};

// None if the process is alone, and has to start the workers itself. Else the flags are completed: the number
// of workers is that of the ranks that train, and a strategy that is not named is the launcher's.
// InvalidArgument if flags and launcher contradict each other, or the environment makes no sense.
std::optional<TrainLaunched> rank_for(TrainFlags& flags, bool strategy_named,
                                      const std::vector<std::string>& own_flags,
                                      const join::EnvironmentVariables& given);

// Does not return.
[[noreturn]] void become_trainer(const TrainLaunched& rank, const std::string& program,
                                 const TrainPlan& plan);

}  // namespace starling::cli
