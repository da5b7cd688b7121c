// Training without Starling: what a worker of a run is compared with.
#pragma once

#include <cstddef>
#include <cstdint>

#include "starling/torch/train_options.h"

namespace starling::torch {

struct BaselineResult {
  std::size_t samples = 0;
  double seconds = 0;
};

// `setting.steps` steps of the model on the data in the order of a run with one worker, with LibTorch's own
// optimiser. The first `warmup` steps are not timed. InvalidArgument if the optimiser is not SGD.
BaselineResult train_baseline(const TrainOptions& setting, std::uint64_t warmup);

}  // namespace starling::torch
