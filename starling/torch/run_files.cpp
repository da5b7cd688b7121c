#include "starling/torch/run_files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "starling/core/error.h"
#include "starling/core/version.h"
#include "starling/record/run_files.h"
#include "starling/record/run_folder.h"

namespace starling::torch {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostPoints = 256;  // of the loss; beyond it every second one goes

std::string checkpoint_folder(const SessionOptions& options) {
  if (!options.checkpoints.empty()) return options.checkpoints;
  return options.out.empty() ? "" : fs::path(options.out) / "checkpoints";
}

std::string run_json(const join::RunEnvironment& environment, const SessionOptions& options) {
  return concat("{\n  \"version\": \"", version(), "\",\n  \"command\": \"program\",\n  \"strategy\": \"",
                environment.strategy, "\",\n  \"workers\": ", environment.workers,
                ",\n  \"seed\": ", options.seed, "\n}\n");
}

// The launcher has made the folder and said in it what it started.
void open_folder(const SessionOptions& options, const join::RunEnvironment& environment) {
  if (options.out.empty() || environment.rank != 0 || !environment.output.out.empty()) return;
  const bool goes_on = options.resume == options.out;
  record::RunFolder(options.out, options.overwrite || goes_on)
      .write("run.json", run_json(environment, options));
}

}  // namespace

SessionOptions with_launcher_options(SessionOptions options, const join::OutputOptions& launcher) {
  if (!launcher.out.empty()) options.out = launcher.out;
  if (launcher.checkpoint_every > 0) options.checkpoint_every = launcher.checkpoint_every;
  if (!launcher.resume.empty()) options.resume = launcher.resume;
  if (launcher.steps) options.steps = launcher.steps;
  if (launcher.max_time) options.max_time = launcher.max_time;
  options.progress = options.progress || launcher.progress;
  if (!std::isfinite(options.clip_norm) || options.clip_norm < 0) {
    throw InvalidArgument(
        concat("clip_norm is ", options.clip_norm, "; allowed: a finite number, 0 or more"));
  }
  if (options.checkpoint_every > 0 && options.out.empty() && options.checkpoints.empty()) {
    throw InvalidArgument("checkpoint_every without out; checkpoints go to that folder");
  }
  return options;
}

RunFiles::RunFiles(const SessionOptions& options, const join::RunEnvironment& environment, data::RunKeys keys)
    : out_(options.out),
      checkpoints_(checkpoint_folder(options)),
      keys_(std::move(keys)),
      rank_(environment.rank),
      workers_(environment.workers),
      strategy_(environment.strategy) {
  if (!options.resume.empty()) {
    const data::CheckpointFiles files(fs::path(options.resume) / "checkpoints");
    resumed_steps_ = files.latest(keys_);
    resumed_ = files.read(resumed_steps_, rank_);
  }
  open_folder(options, environment);
}

void RunFiles::save(std::uint64_t step, const data::WorkerState& state) const {
  checkpoints_.write(step, rank_, state);
}

void RunFiles::commit(std::uint64_t step) const { checkpoints_.commit(step, workers_, keys_); }

void RunFiles::note_progress(const std::vector<session::Progress>& workers, Duration elapsed) {
  record::LossPoint point;
  point.time = Time(elapsed);
  int known = 0;
  for (const session::Progress& worker : workers) {
    point.steps += worker.steps;
    if (!std::isfinite(worker.loss)) continue;
    point.loss += worker.loss;
    ++known;
  }
  const std::lock_guard lock(mutex_);
  if (known == 0 || (!losses_.empty() && losses_.back().steps == point.steps)) return;
  point.loss /= known;
  losses_.push_back(point);
  if (losses_.size() < kMostPoints) return;
  for (std::size_t i = 0; i < kMostPoints / 2; ++i) losses_[i] = losses_[2 * i + 1];
  losses_.resize(kMostPoints / 2);
}

void RunFiles::write(std::vector<record::RankRecord> ranks, const NamedTensors& model) {
  if (out_.empty()) return;
  record::RunRecord run;
  run.strategy = strategy_;
  run.world = "real";
  run.ranks = std::move(ranks);
  for (const record::RankRecord& record : run.ranks)
    run.duration = std::max(run.duration, Duration(record.end.time_since_epoch()));
  const std::lock_guard lock(mutex_);
  run.losses = losses_;
  if (!losses_.empty()) run.final_train_loss = losses_.back().loss;
  const auto folder = record::RunFolder::existing(out_);
  data::write_safetensors(folder.path() / "model.safetensors", to_tensor_file(model));
  record::write_run_files(folder, run);
}

}  // namespace starling::torch
