// The files that a program's session leaves: checkpoints on every rank; the record and the model on the
// coordinator, the lowest worker that lives.
#pragma once

#include <cstdint>
#include <functional>
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
  // Takes the step that a worker could go on from, and returns the lowest of all workers.
  using LowestStep = std::function<std::uint64_t(std::uint64_t)>;

  // Rank 0 makes the folder, unless the launcher did. `keys`: what a run that resumes must have in common.
  RunFiles(const SessionOptions& options, const join::RunEnvironment& environment, data::RunKeys keys,
           const LowestStep& lowest_step);

  // The checkpoint to go on from, if there is one.
  const std::optional<data::WorkerState>& resumed() const { return resumed_; }
  std::uint64_t resumed_steps() const { return from_.step; }
  // Whether it is the part of another rank: this one was lost before.
  bool resumed_from_another() const { return resumed_ && data::part_for(rank_, from_) != rank_; }
  // What was given out before, where workers take batches by demand.
  session::SharePosition resumed_position() const;

  void save(std::uint64_t step, const data::WorkerState& state) const;
  // The coordinator: all workers that live have saved.
  void commit(const session::Saved& saved) const;

  // The coordinator and the worker that would follow it, from the engine's thread: the losses become points
  // of the record.
  void note_progress(const std::vector<session::Progress>& workers, Duration elapsed);
  // The coordinator, at the end. Error if the folder is not there.
  void write(std::vector<record::RankRecord> ranks, const NamedTensors& model);

 private:
  void resume(const data::CheckpointFiles& files, const LowestStep& lowest_step);
  bool try_to_read(const data::CheckpointFiles& files);
  data::WorkerState read(const data::CheckpointFiles& files) const;
  void say_who_is_missing() const;

  std::string out_;
  data::CheckpointFiles checkpoints_;
  data::RunKeys keys_;
  Rank rank_;
  int workers_;
  std::string strategy_;
  record::RecordMode record_;
  std::optional<data::WorkerState> resumed_;
  data::CompleteCheckpoint from_;  // of `resumed_`
  std::mutex mutex_;
  std::vector<record::LossPoint> losses_;
};

}  // namespace starling::torch
