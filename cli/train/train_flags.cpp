#include "cli/train/train_flags.h"

#include <algorithm>

#include "cli/common/shared_flags.h"
#include "starling/core/error.h"
#include "starling/data/dataset.h"
#include "starling/optim/schedule.h"
#include "starling/torch/model_names.h"

namespace starling::cli {
namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostEvalPoints = 64;
constexpr double kMostPower = 100;

// One of some words.
Grammar<std::string> word_of(std::vector<std::string_view> words, std::string_view kind = "") {
  return text_like("WORD", [words = std::move(words), kind = std::string(kind)](const std::string& text,
                                                                                std::string_view flag) {
    if (std::find(words.begin(), words.end(), text) != words.end()) return;
    throw InvalidArgument(concat(flag, ": ", kind, "'", text, "'; allowed: ", join_texts(words)));
  });
}

std::vector<std::string_view> model_names() {
  return {std::begin(torch::kModelNames), std::end(torch::kModelNames)};
}

Grammar<std::string> schedule() {
  return text_like("NAME", [](const std::string& text, auto flag) { optim::parse_schedule(text, flag); });
}

// Adds flags to one group of a command's help.
class FlagGroup {
 public:
  FlagGroup(CLI::App& command, const char* group) : command_(command), group_(group) {}

  template <class Value, class Target>
  CLI::Option* add_shared(const Flag<Value>& flag, Target& target) {
    return add(command_, flag, target)->group(group_);
  }
  CLI::Option* add_switch(const Switch& flag, bool& target) {
    return add(command_, flag, target)->group(group_);
  }
  template <class Value, class Target>
  CLI::Option* add_own(const char* name, const char* help, const Grammar<Value>& grammar, Target& target) {
    return add_shared(Flag<Value>{name, help, grammar}, target);
  }

 private:
  CLI::App& command_;
  const char* group_;
};

void add_worker_flags(FlagGroup group, TrainFlags& flags) {
  const SharedFlags& shared = shared_flags();
  group.add_shared(shared.workers, flags.workers)->default_str("4");
  group.add_own("--servers", "0: the strategy's service runs beside worker 0; 1: in a process of its own",
                whole_number(0, 1), flags.servers);
  group.add_own("--threads", "threads of each worker", whole_number(1, kMostThreads), flags.threads)
      ->default_str("1");
  group.add_own("--pace", "least duration of a step, as in 20ms; the worker sleeps for the rest",
                positive_time(), flags.pace);
  group.add_shared(shared.jitter, flags.cluster.jitter);
  group.add_shared(shared.jitter_span, flags.cluster.jitter_span)->default_str("step");
  group.add_shared(shared.slow, flags.cluster.slow);
  group.add_shared(shared.pause, flags.cluster.pause);
  group.add_shared(shared.kill, flags.cluster.kill);
  group.add_shared(shared.on_loss, flags.on_loss)->default_str(kOnLossDefault);
  group.add_shared(shared.link, flags.link);
}

void add_learning_flags(FlagGroup group, TrainFlags& flags) {
  const SharedFlags& shared = shared_flags();
  group
      .add_own("--model", join_texts(model_names()).c_str(), word_of(model_names(), "unknown model "),
               flags.model)
      ->capture_default_str();
  group.add_own("--data", data::data_forms().c_str(), any_text(), flags.data)->capture_default_str();
  group
      .add_own("--shards",
               "equal: every worker gets as many batches; dynamic: a worker takes the next when ready",
               word_of({"equal", "dynamic"}), flags.shards)
      ->capture_default_str();
  group.add_shared(shared.batch, flags.batch)->default_str("32");
  group.add_shared(shared.nonfinite, flags.nonfinite)->capture_default_str();
}

void add_optimizer_flags(FlagGroup group, OptimizerFlags& flags) {
  const SharedFlags& shared = shared_flags();
  group.add_shared(shared.optimizer, flags.kind)->default_str("sgd; charlm: adam");
  group.add_shared(shared.lr, flags.lr)->default_str("the model's own");
  group.add_shared(shared.scale_lr, flags.scale_lr)->default_str("none");
  group.add_shared(shared.momentum, flags.momentum)->default_str("0.9");
  group.add_switch(shared.nesterov, flags.nesterov);
  group.add_shared(shared.weight_decay, flags.weight_decay)->default_str("0");
  group.add_shared(shared.trust, flags.trust)->default_str(kTrustDefault);
  group.add_shared(shared.exclude, flags.exclude_vectors)->default_str("vectors");
  group.add_shared(shared.clip_norm, flags.clip_norm)->default_str("0");
}

void add_schedule_flags(FlagGroup group, TrainFlags& flags) {
  group
      .add_own("--warmup",
               "steps, or as in 5epochs passes, in which the learning rate grows to its full value",
               Grammar<optim::WarmUp>{"N|Nepochs", optim::parse_warmup}, flags.warmup)
      ->default_str("0");
  group.add_own("--lr-schedule", "constant, step, cosine, polynomial", schedule(), flags.schedule)
      ->capture_default_str();
  group.add_own("--lr-power", "power of the polynomial schedule", number(0, kMostPower), flags.lr_power)
      ->default_str("2");
  group.add_own("--lr-end", "rate at the end of the polynomial schedule", number(0, kLarge), flags.lr_end)
      ->default_str("0");
}

void add_end_flags(FlagGroup group, TrainFlags& flags) {
  const SharedFlags& shared = shared_flags();
  group.add_own("--epochs", "passes over the data set", whole_number(1, kMostSteps), flags.epochs)
      ->default_str("1, or as many as fit");
  group.add_shared(shared.steps, flags.steps);
  group.add_shared(shared.max_seconds, flags.max_seconds);
  group.add_shared(shared.target_loss, flags.target_loss);
  group.add_shared(shared.target_accuracy, flags.target_accuracy);
  group.add_switch({"--no-stop", "keeps training after the target is reached"}, flags.no_stop);
}

void add_run_flags(FlagGroup group, TrainFlags& flags) {
  const SharedFlags& shared = shared_flags();
  add_end_flags(group, flags);
  group.add_own("--eval", "after: evaluates snapshots after the run; now: during it, on worker 0's machine",
                word_of({"after", "now"}), flags.eval);
  group.add_own("--eval-every", "time between two snapshots", positive_time(), flags.eval_every)
      ->default_str("500ms; longer in long runs");
  group
      .add_own("--eval-points", "most snapshots to evaluate", whole_number(1, kMostEvalPoints),
               flags.eval_points)
      ->default_str("16");
  group.add_own("--check-sync", "steps between two comparisons of the workers' models",
                whole_number(1, kMostSteps), flags.check_sync);
  group.add_shared(shared.checkpoint_every, flags.checkpoint_every);
  group.add_shared(shared.resume, flags.resume);
  group.add_shared(shared.seed, flags.seed)->default_str("1");
  group.add_shared(shared.out, flags.out);
  group.add_shared(shared.record, flags.record)->default_str("full");
  group.add_switch(shared.force, flags.force);
  group.add_switch(shared.json, flags.json);
}

}  // namespace

void add_train_flags(CLI::App& command, TrainFlags& flags) {
  command.allow_extras();
  add(command, shared_flags().strategy, flags.strategy)->capture_default_str();
  add_worker_flags({command, "Workers (docs/train.md)"}, flags);
  add_learning_flags({command, "Training (docs/train.md)"}, flags);
  add_optimizer_flags({command, "Optimiser (docs/train.md, docs/large_batches.md)"}, flags.optimizer);
  add_schedule_flags({command, "Optimiser (docs/train.md, docs/large_batches.md)"}, flags);
  add_run_flags({command, "Run (docs/train.md, docs/runs.md)"}, flags);
}

}  // namespace starling::cli
