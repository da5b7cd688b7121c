#include "cli/train/train_plan.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/common/strategy_flags.h"
#include "starling/core/error.h"
#include "starling/core/text.h"
#include "starling/join/rendezvous_protocol.h"
#include "starling/launch/launcher.h"
#include "starling/torch/model_names.h"
#include "starling/torch/sample_count.h"
#include "starling/torch/strategy_keys.h"

namespace starling::cli {
namespace {

using torch::TrainOptions;

// Defaults suit the model.
double default_rate(const TrainFlags& flags, optim::OptimizerSpec::Kind kind) {
  using Kind = optim::OptimizerSpec::Kind;
  if (kind == Kind::kSgd) return flags.model == "resnet20" ? 0.05 : 0.02;
  return kind == Kind::kLars ? 1 : 0.002;
}

void read_optimizer(const TrainFlags& flags, TrainPlan& plan) {
  using Kind = optim::OptimizerSpec::Kind;
  const OptimizerDefaults defaults{flags.model == "charlm" ? Kind::kAdam : Kind::kSgd, 0.9};
  const double rate = default_rate(flags, optimizer_kind(flags.optimizer, defaults.kind));
  plan.setting.optimizer = optimizer_of(flags.optimizer, defaults, rate);
  plan.rate = scale_rate(flags.optimizer, plan.workers, plan.setting.optimizer);
}

void read_cluster(const TrainFlags& flags, int workers, TrainOptions& setting) {
  cluster::ClusterFlags texts = flags.cluster;
  texts.workers = std::to_string(workers);
  setting.cluster = cluster::make_cluster(texts);
  setting.pace = flags.pace.optional();
}

void read_end(const TrainFlags& flags, TrainOptions& setting) {
  setting.epochs = flags.epochs.optional();
  setting.steps = flags.steps.optional();
  if (flags.max_seconds) {
    setting.until = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*flags.max_seconds));
  }
  if (!flags.epochs && !flags.steps && !flags.max_seconds) setting.epochs = 1;
  setting.target_loss = flags.target_loss.optional();
  setting.target_accuracy = flags.target_accuracy.optional();
  if (flags.target_loss && flags.target_accuracy) {
    throw InvalidArgument("--target-loss and --target-accuracy are given; allowed: one of them");
  }
  setting.stop_at_target = !flags.no_stop;
  if (flags.no_stop && !flags.target_loss && !flags.target_accuracy) {
    throw InvalidArgument("--no-stop: allowed with --target-loss or --target-accuracy");
  }
}

void read_evaluation(const TrainFlags& flags, TrainOptions& setting) {
  // The end at an accuracy has to be seen in time.
  const bool now = setting.target_accuracy && setting.stop_at_target;
  const std::string eval = flags.eval.value_or(now ? "now" : "after");
  if (now && eval == "after") {
    throw InvalidArgument(
        "--eval after: the run could not stop at --target-accuracy; allowed: --eval now, or with --no-stop");
  }
  setting.evaluate = eval == "now" ? torch::EvalTime::kNow : torch::EvalTime::kAfter;
  setting.eval_every = flags.eval_every.optional();
  if (flags.eval_points) setting.eval_points = static_cast<int>(*flags.eval_points);
}

void read_schedule(const TrainFlags& flags, TrainOptions& setting) {
  setting.schedule = optim::parse_schedule(flags.schedule, "--lr-schedule");
  setting.warmup = flags.warmup.value_or({});
  setting.nonfinite = strategy::parse_nonfinite(flags.nonfinite, "--nonfinite");
  if (setting.schedule != optim::Schedule::Kind::kConstant && !setting.epochs && !setting.steps) {
    throw InvalidArgument(
        concat("--lr-schedule: '", flags.schedule, "' needs --epochs or --steps, to know the end"));
  }
  for (const auto& [given, flag] :
       {std::pair(&flags.lr_power, "--lr-power"), std::pair(&flags.lr_end, "--lr-end")}) {
    if (!*given || setting.schedule == optim::Schedule::Kind::kPolynomial) continue;
    throw InvalidArgument(concat(flag, ": '", given->text(), "'; allowed with --lr-schedule polynomial"));
  }
  setting.power = flags.lr_power.value_or(setting.power);
  setting.end_rate = flags.lr_end.value_or(setting.end_rate);
  if (setting.end_rate <= setting.optimizer.learning_rate) return;
  throw InvalidArgument(concat("--lr-end: '", flags.lr_end.text(), "'; allowed: at most the learning rate, ",
                               setting.optimizer.learning_rate));
}

void read_checks(const TrainFlags& flags, const TrainPlan& plan, TrainOptions& setting) {
  if (flags.check_sync) {
    setting.check_sync = *flags.check_sync;
    const auto options = strategy::Options::parse(plan.strategy->options, plan.strategy->name, plan.options);
    try {
      strategy::check_equal_models(*plan.strategy, options);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(concat("--check-sync: ", error.what()));
    }
  }
  if (flags.checkpoint_every) {
    setting.checkpoint_every = *flags.checkpoint_every;
    if (!plan.out) throw InvalidArgument("--checkpoint-every needs --out, where the checkpoints go");
  }
  if (flags.resume) setting.resume = std::filesystem::path(*flags.resume) / "checkpoints";
  if (plan.out) setting.checkpoints = std::filesystem::path(*plan.out) / "checkpoints";
}

void read_strategy(const TrainFlags& flags, const std::vector<std::string>& own_flags, TrainPlan& plan) {
  plan.strategy = &strategy::find_strategy(flags.strategy);
  plan.options = strategy_options(flags, own_flags);
  const auto options = strategy::Options::parse(plan.strategy->options, plan.strategy->name, plan.options);
  plan.strategy->make(options, plan.workers);  // refuses what does not go together
  strategy::check_hosts(*plan.strategy, options, !plan.link);
}

void read_feed(const TrainFlags& flags, TrainPlan& plan) {
  plan.data = flags.data;
  plan.setting.batch = flags.batch.value_or(32);
  const auto options = strategy::Options::parse(plan.strategy->options, plan.strategy->name, plan.options);
  const std::unique_ptr<strategy::Strategy> strategy = plan.strategy->make(options, plan.workers);
  if (flags.shards == "dynamic" && !strategy->equal_batches()) {
    throw InvalidArgument(
        "--shards: dynamic, but the strategy divides each global batch by speed; allowed: equal");
  }
  plan.setting.dynamic_shards = flags.shards == "dynamic" || strategy->pieces() > 1;
}

// Reads the files of this host. Returns the number of samples for training.
std::size_t check_data(const TrainPlan& plan) {
  const data::Description set = data::describe(plan.data, "--data");
  if (set.is_text != torch::learns_text(plan.setting.model)) {
    throw InvalidArgument(concat("--model: ", plan.setting.model, " learns ",
                                 set.is_text ? "pictures" : "text", ", and ", plan.data, " is ",
                                 set.is_text ? "text" : "pictures"));
  }
  const std::size_t samples = torch::training_samples(set);
  torch::steps_per_epoch(samples, plan.setting.batch, plan.workers);
  return samples;
}

}  // namespace

strategy::OptionTexts strategy_options(const TrainFlags& flags, const std::vector<std::string>& own_flags) {
  const strategy::StrategyEntry& row = strategy::find_strategy(flags.strategy);
  strategy::OptionTexts options = read_strategy_flags(row, flags.strategy_flags, own_flags);
  if (!flags.servers) return options;
  const bool has = std::any_of(row.options.begin(), row.options.end(),
                               [](const auto& spec) { return spec.name == "server"; });
  if (!has) {
    throw InvalidArgument(concat("--servers: '", flags.servers.text(), "': strategy ", flags.strategy,
                                 " has no service; allowed with ps"));
  }
  options["server"] = *flags.servers == 1 ? "own" : "beside";
  return options;
}

TrainPlan plan_flags(const TrainFlags& flags, const std::vector<std::string>& own_flags) {
  TrainPlan plan;
  TrainOptions& setting = plan.setting;
  // Another launcher may have started workers on several hosts.
  const int most = flags.launched ? join::kMostMeetingRanks : launch::kMostWorkers;
  plan.workers = in_range(flags.workers, "--workers", 4, 1, most);
  plan.link = flags.link.optional();
  read_strategy(flags, own_flags, plan);
  plan.out = flags.out ? flags.out : flags.resume;
  plan.force = flags.force || (flags.resume && !flags.out);
  plan.json = flags.json;
  plan.setting.record = flags.record.value_or({});
  if (flags.force && !flags.out) throw InvalidArgument("--force needs --out, whose files it replaces");
  setting.model = flags.model;
  read_optimizer(flags, plan);
  setting.threads = static_cast<int>(flags.threads.value_or(1));
  setting.seed = flags.seed.value_or(1);
  read_cluster(flags, plan.workers, setting);
  read_end(flags, setting);
  read_evaluation(flags, setting);
  read_schedule(flags, setting);
  read_checks(flags, plan, setting);
  plan.end_on_loss = flags.on_loss.optional();
  read_feed(flags, plan);
  return plan;
}

TrainPlan plan_training(const TrainFlags& flags, const std::vector<std::string>& own_flags) {
  TrainPlan plan = plan_flags(flags, own_flags);
  check_data(plan);
  return plan;
}

void check_resume(const TrainPlan& plan) {
  if (!plan.setting.resume) return;
  const data::CheckpointFiles files(*plan.setting.resume);
  data::RunKeys keys = torch::run_keys(plan.setting, data::load(plan.data, "--data"));
  keys.merge(torch::strategy_keys(plan.strategy->name, plan.options, plan.workers));
  files.complete(keys);
}

void load_data(TrainPlan& plan) {
  check_data(plan);
  plan.setting.data = std::make_shared<const data::DataSet>(data::load(plan.data, "--data"));
}

}  // namespace starling::cli
