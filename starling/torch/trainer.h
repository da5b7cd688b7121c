// A worker of `starling train`. No LibTorch in sight, for the program that calls it.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "starling/data/safetensors.h"
#include "starling/join/run_context.h"
#include "starling/record/run_record.h"
#include "starling/session/callbacks.h"
#include "starling/torch/train_options.h"

namespace starling::torch {

// The result on rank 0.
struct TrainResult {
  record::RunRecord run;
  data::TensorFile model;
};

struct TrainListener {
  // On the engine's thread of rank 0, a few times per second.
  std::function<void(const std::vector<session::Progress>&, Duration elapsed)> show;
  // On any worker, once: something the user should know.
  std::function<void(const std::string&)> remark;
  // When it becomes true the run ends after the step.
  const std::atomic<bool>* interrupted = nullptr;
};

// Takes part in the run: trains, or serves on a rank that only serves. The result is rank 0's.
std::optional<TrainResult> train(join::RunContext& context, const TrainOptions& options,
                                 const TrainListener& listener);

}  // namespace starling::torch
