// Training without Starling: what the workers of a run are compared with.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "starling/torch/train_options.h"

namespace starling::torch {

// Trains the model on the batches that `worker` of `workers` has in a run, with LibTorch's own optimiser, as
// slow as the cluster of the setting says, until `go_on(steps made)` is false. Returns when each step ended.
// The process keeps the memory that it frees from now on. InvalidArgument if the optimiser is not SGD.
std::vector<std::chrono::steady_clock::time_point> train_baseline(
    const TrainOptions& setting, Rank worker, int workers,
    const std::function<bool(std::uint64_t steps)>& go_on);

}  // namespace starling::torch
