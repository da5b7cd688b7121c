#include "cli/common/flag_parsing.h"
#include "cli/train/train_plan.h"
#include "starling/core/error.h"
#include "starling/data/dataset.h"
#include "starling/torch/model_names.h"

namespace starling::cli {
namespace {

void add_worker_flags(CLI::App& command, TrainText& text) {
  constexpr const char* kGroup = "Workers (docs/train.md)";
  cluster::ClusterFlags& flags = text.cluster;
  command.add_option("--workers", flags.workers, "how many processes (4)")->group(kGroup);
  command.add_option("--servers", text.servers, "0: the service is beside worker 0; 1: it has a process")
      ->group(kGroup);
  command.add_option("--threads", text.threads, "of each worker (1)")->group(kGroup);
  command.add_option("--pace", text.pace, "a step takes at least so long, as in 20ms: the rest is slept")
      ->group(kGroup);
  command.add_option("--jitter", flags.jitter, kJitterForms)->group(kGroup);
  const auto add_list = [&](const char* flag, std::vector<std::string>& values, const char* help) {
    add_repeated(command, flag, values, help, kGroup);
  };
  add_list("--slow", flags.slow, "WORKER:FACTOR[@FROM-TO],..., as in 0:4,3:2@10s-20s; may be repeated");
  add_list("--pause", flags.pause, "WORKER@FROM-TO: stands still; may be repeated");
  add_list("--kill", flags.kill, "WORKER@TIME: its process is killed; may be repeated");
  command.add_option("--link", text.link, "caps the links between workers: 1gbe, 10gbe, ..., or 40gbit/5us")
      ->group(kGroup);
}

void add_learning_flags(CLI::App& command, TrainText& text) {
  constexpr const char* kGroup = "Training (docs/train.md)";
  const std::vector<std::string_view> models(std::begin(torch::kModelNames), std::end(torch::kModelNames));
  command.add_option("--model", text.model, concat(join_texts(models), " (cnn)"))->group(kGroup);
  command.add_option("--data", text.data, concat(data::data_forms(), " (glyphs)"))->group(kGroup);
  command
      .add_option("--shards", text.shards,
                  "equal: all get as many batches; dynamic: who is ready takes the next")
      ->group(kGroup);
  command.add_option("--batch", text.batch, "samples of a worker's step (32)")->group(kGroup);
  command.add_option("--optimizer", text.optimizer, "sgd, adam, adamw (sgd; charlm: adam)")->group(kGroup);
  command.add_option("--lr", text.lr, "learning rate (the model's own)")->group(kGroup);
  command.add_option("--momentum", text.momentum, "of sgd (0.9)")->group(kGroup);
  command.add_flag("--nesterov", text.nesterov, "of sgd")->group(kGroup);
  command.add_option("--weight-decay", text.weight_decay, "(0)")->group(kGroup);
  command.add_option("--clip-norm", text.clip_norm, "largest 2-norm of a gradient; 0: any (0)")
      ->group(kGroup);
  command.add_option("--warmup", text.warmup, "steps in which the learning rate grows (0)")->group(kGroup);
  command.add_option("--lr-schedule", text.schedule, "constant, step, cosine (constant)")->group(kGroup);
}

void add_run_flags(CLI::App& command, TrainText& text) {
  constexpr const char* kGroup = "Run (docs/train.md, docs/runs.md)";
  const auto add = [&](const char* flag, std::optional<std::string>& value, const char* help) {
    command.add_option(flag, value, help)->group(kGroup);
  };
  add("--epochs", text.epochs, "(1, or as many as fit)");
  add("--steps", text.steps, "of each worker");
  add("--max-seconds", text.max_seconds, "no step begins later");
  add("--target-loss", text.target_loss, "ends when the training loss is there");
  add("--target-accuracy", text.target_accuracy, "ends when the accuracy on the test set is there, 0 to 1");
  command.add_flag("--no-stop", text.no_stop, "only note when a target is reached")->group(kGroup);
  add("--eval", text.eval,
      "after: snapshots are judged after the run; now: beside it, on worker 0's machine");
  add("--eval-every", text.eval_every, "time between snapshots (500ms; longer in long runs)");
  add("--eval-points", text.eval_points, "most snapshots to judge (16)");
  add("--check-sync", text.check_sync, "compare the workers' models every N steps");
  add("--checkpoint-every", text.checkpoint_every, "steps; into --out");
  add("--resume", text.resume, "go on from the checkpoint in this run's folder");
  command.add_option("--seed", text.seed, "of everything random (1)")->group(kGroup);
  add("--out", text.out, "folder for the run: summary, trace, events, model.safetensors");
  command.add_flag("--force", text.force, "replace the files of an earlier run in --out")->group(kGroup);
  command.add_flag("--json", text.json, "print summary.json instead of the table")->group(kGroup);
  command.add_flag("--launched", text.launched)->group("");
  command.add_flag("--plain", text.plain)->group("");
}

}  // namespace

void add_train_flags(CLI::App& command, TrainText& text) {
  command.allow_extras();
  std::vector<std::string_view> names;
  for (const strategy::StrategyEntry& row : strategy::registry()) names.emplace_back(row.name);
  command.add_option("--strategy", text.strategy,
                     concat(join_texts(names), " (", names.front(),
                            "); its options are flags, too: `starling strategies NAME` shows them"));
  add_worker_flags(command, text);
  add_learning_flags(command, text);
  add_run_flags(command, text);
}

}  // namespace starling::cli
