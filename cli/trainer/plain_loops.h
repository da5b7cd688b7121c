// Loops without Starling that train at the same time, for `starling bench train`: what the machine can do.
#pragma once

#include "cli/train/train_plan.h"

namespace starling::cli {

// One process per worker of the plan; each goes on until all have made the steps of the plan, so that the
// machine is as full all the time as in a run. Prints one line of JSON: by worker, when each step ended.
// To be called before LibTorch has been used, which does not survive a fork.
void run_plain_loops(const TrainPlan& plan);

}  // namespace starling::cli
