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

// The result of the run.
struct TrainResult {
  record::RunRecord run;
  data::TensorFile model;
};

struct TrainListener {
  // On the engine's thread of the coordinator, the lowest worker that lives, a few times per second.
  std::function<void(const std::vector<session::Progress>&, Duration elapsed)> show;
  // On any worker, once: something the user should know.
  std::function<void(const std::string&)> remark;
  // On the worker that has the result, once. The others wait until it returns: if this worker is lost in it,
  // the next one gets the result.
  std::function<void(const TrainResult&)> write;
  // When it becomes true the run ends after the step.
  const std::atomic<bool>* interrupted = nullptr;
};

// Takes part in the run: trains, or serves on a rank that only serves. The coordinator returns the result.
std::optional<TrainResult> train(join::RunContext& context, const TrainOptions& options,
                                 const TrainListener& listener);

}  // namespace starling::torch
