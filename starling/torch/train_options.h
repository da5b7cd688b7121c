// The options of a worker of `starling train`. Without LibTorch, for code that only reads flags.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "starling/cluster/cluster.h"
#include "starling/core/error.h"
#include "starling/data/checkpoint_files.h"
#include "starling/data/dataset.h"
#include "starling/optim/optimizer.h"
#include "starling/optim/schedule.h"
#include "starling/record/record_plan.h"
#include "starling/strategy/gradient_check.h"
#include "starling/torch/sample_count.h"

namespace starling::torch {

enum class EvalTime {
  kAfter,  // when the training is over, so it costs no training time
  kNow,    // beside the training, on rank 0
};

struct TrainOptions {
  std::string model = "cnn";
  std::shared_ptr<const data::DataSet> data;
  std::size_t batch = 32;  // samples of a worker's step
  bool dynamic_shards = false;
  std::uint64_t seed = 1;
  int threads = 1;

  optim::OptimizerSpec optimizer;
  optim::Schedule::Kind schedule = optim::Schedule::Kind::kConstant;
  optim::WarmUp warmup;
  double power = 2;     // of the polynomial schedule
  double end_rate = 0;  // of the polynomial schedule
  strategy::NonFinite nonfinite = strategy::NonFinite::kSkip;

  // The run ends with the first of these.
  std::optional<std::uint64_t> epochs;
  std::optional<std::uint64_t> steps;  // of each worker
  std::optional<Duration> until;
  std::optional<double> target_loss;
  std::optional<double> target_accuracy;
  bool stop_at_target = true;

  cluster::Cluster cluster;  // which workers are slow when, and which die
  std::optional<Duration> pace;

  EvalTime evaluate = EvalTime::kAfter;
  std::optional<Duration> eval_every;  // none: chosen so that the curve has some points
  int eval_points = 16;                // at most so many

  record::RecordPlan record;
  std::uint64_t check_sync = 0;  // steps; 0: never
  std::uint64_t checkpoint_every = 0;
  std::filesystem::path checkpoints;                 // folder; where `checkpoint_every` or `resume` is set
  std::optional<std::filesystem::path> resume = {};  // folder with checkpoints
};

// The properties that a run must share with the one whose checkpoint it continues from.
inline data::RunKeys run_keys(const TrainOptions& setting, const data::DataSet& set) {
  return {{"model", setting.model},
          {"samples", std::to_string(training_samples(set))},
          {"data", data::fingerprint(set)},
          {"batch", std::to_string(setting.batch)},
          {"optimizer", std::string(optim::name_of(setting.optimizer.kind))},
          {"seed", std::to_string(setting.seed)}};
}

// The steps of one worker in an epoch, with equal shards. InvalidArgument if there is less than one.
inline std::uint64_t steps_per_epoch(std::size_t samples, std::size_t batch, int workers) {
  const std::uint64_t steps = samples / batch / static_cast<std::uint64_t>(workers);
  if (steps > 0) return steps;
  throw InvalidArgument(concat("--batch: ", batch, " samples for each of ", workers,
                               " workers; allowed: together at most the ", samples,
                               " samples of the data set"));
}

}  // namespace starling::torch
