#include "starling/torch/run_files.h"

#include <cmath>
#include <filesystem>

#include "starling/core/error.h"
#include "starling/core/log.h"
#include "starling/core/text.h"
#include "starling/core/version.h"
#include "starling/record/run_files.h"
#include "starling/record/run_folder.h"
#include "starling/record/summary.h"
#include "starling/torch/reachable_run_folder.h"

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
  if (!launcher.record.empty())
    options.record = record::parse_record_plan(launcher.record, "STARLING_RECORD");
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

RunFiles::RunFiles(const SessionOptions& options, const join::RunEnvironment& environment, data::RunKeys keys,
                   const LowestStep& lowest_step)
    : out_(options.out),
      checkpoints_(checkpoint_folder(options)),
      keys_(std::move(keys)),
      rank_(environment.rank),
      workers_(environment.workers),
      strategy_(environment.strategy),
      record_(options.record.mode) {
  if (!options.resume.empty())
    resume(data::CheckpointFiles(fs::path(options.resume) / "checkpoints"), lowest_step);
  open_folder(options, environment);
}

// A worker whose part of the newest is damaged goes back to the one before, and all others with it.
void RunFiles::resume(const data::CheckpointFiles& files, const LowestStep& lowest_step) {
  const std::vector<data::CompleteCheckpoint> checkpoints = files.complete(keys_);
  from_ = checkpoints.front();
  if (checkpoints.size() == 1 || !try_to_read(files)) from_ = checkpoints.back();
  const std::uint64_t agreed = lowest_step(from_.step);
  if (!resumed_ || agreed != from_.step) {
    if (agreed != from_.step) from_ = checkpoints.back();
    resumed_ = read(files);
  }
  if (rank_ == 0) say_who_is_missing();
}

data::WorkerState RunFiles::read(const data::CheckpointFiles& files) const {
  return files.read(from_.step, data::part_for(rank_, from_));
}

bool RunFiles::try_to_read(const data::CheckpointFiles& files) {
  try {
    resumed_ = read(files);
    return true;
  } catch (const InvalidArgument& error) {
    stderr_log()(LogLevel::kWarning, concat("rank ", rank_, ": ", error.what(),
                                            "; the run goes on from the checkpoint before it"));
    return false;
  }
}

void RunFiles::say_who_is_missing() const {
  Group missing;
  for (Rank rank = 0; rank < workers_; ++rank) {
    if (data::part_for(rank, from_) != rank) missing.push_back(rank);
  }
  if (missing.empty()) return;
  const bool one = missing.size() == 1;
  stderr_log()(LogLevel::kWarning,
               concat("the checkpoint of step ", from_.step, " has no part of worker", one ? " " : "s ",
                      join_texts(missing), ", which ", one ? "was lost; it begins" : "were lost; they begin",
                      " with the part of worker ", from_.ranks.front()));
}

session::SharePosition RunFiles::resumed_position() const {
  if (!from_.position) return {};
  return {from_.position->epoch, from_.position->batches};
}

void RunFiles::save(std::uint64_t step, const data::WorkerState& state) const {
  checkpoints_.write(step, rank_, state);
}

void RunFiles::commit(const session::Saved& saved) const {
  data::CompleteCheckpoint checkpoint{saved.step, saved.ranks};
  if (saved.position) checkpoint.position = {saved.position->epoch, saved.position->batches};
  checkpoints_.commit(checkpoint, keys_);
}

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
  record::RunRecord run = record::real_run(strategy_, std::move(ranks));
  const std::lock_guard lock(mutex_);
  run.record = record_;
  run.losses = losses_;
  if (!losses_.empty()) run.final_train_loss = losses_.back().loss;
  const record::RunFolder folder = reachable_run_folder(out_);
  data::write_safetensors(folder.path() / "model.safetensors", to_tensor_file(model));
  const record::WaitAnalysis waits = record::analyse_waits(run);
  for (const std::string& failure :
       record::write_run_files(folder, run, waits, record::summary_json(run, waits)))
    stderr_log()(LogLevel::kWarning, failure);
}

}  // namespace starling::torch
