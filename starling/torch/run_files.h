// The files that a program's session leaves: checkpoints on every rank, the record and the model on rank 0.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "starling/data/checkpoint_files.h"
#include "starling/join/run_environment.h"
#include "starling/record/run_record.h"
#include "starling/session/callbacks.h"
#include "starling/torch/session_options.h"
#include "starling/torch/stored_model.h"

namespace starling::torch {

// The options with what the launcher wants instead. InvalidArgument if they make no sense.
SessionOptions with_launcher_options(SessionOptions options, const join::OutputOptions& launcher);

class RunFiles {
 public:
  // Rank 0 makes the folder, unless the launcher did. `keys`: what a run that resumes must have in common.
  RunFiles(const SessionOptions& options, const join::RunEnvironment& environment, data::RunKeys keys);

  // The checkpoint to go on from, if there is one.
  const std::optional<data::WorkerState>& resumed() const { return resumed_; }
  std::uint64_t resumed_steps() const { return resumed_steps_; }

  void save(std::uint64_t step, const data::WorkerState& state) const;
  // Rank 0: all workers have saved.
  void commit(std::uint64_t step) const;

  // Rank 0, from the engine's thread: the losses become points of the record.
  void note_progress(const std::vector<session::Progress>& workers, Duration elapsed);
  // Rank 0, at the end.
  void write(std::vector<record::RankRecord> ranks, const NamedTensors& model);

 private:
  std::string out_;
  data::CheckpointFiles checkpoints_;
  data::RunKeys keys_;
  Rank rank_;
  int workers_;
  std::string strategy_;
  std::optional<data::WorkerState> resumed_;
  std::uint64_t resumed_steps_ = 0;
  std::mutex mutex_;
  std::vector<record::LossPoint> losses_;
};

}  // namespace starling::torch
