// A worker of `starling train`. No LibTorch in sight, for the program that calls it.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

#include "starling/data/safetensors.h"
#include "starling/record/run.h"
#include "starling/session/membership.h"
#include "starling/session/program.h"
#include "starling/torch/train_setting.h"

namespace starling::torch {

// Of rank 0.
struct TrainResult {
  record::Run run;
  data::TensorFile model;
};

struct TrainListener {
  // On the engine's thread of rank 0, a few times per second.
  std::function<void(const std::vector<session::Status>&, Duration elapsed)> show;
  // On any worker, once: something the user should know.
  std::function<void(const std::string&)> remark;
  // When it becomes true the run ends after the step.
  const std::atomic<bool>* interrupted = nullptr;
};

// Takes part in the run: trains, or serves on a rank that only serves. The result is rank 0's.
std::optional<TrainResult> train(session::Membership& membership, const TrainSetting& setting,
                                 const TrainListener& listener);

}  // namespace starling::torch
