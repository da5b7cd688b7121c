#include "cli/train/train_plan.h"

#include <algorithm>
#include <limits>

#include "cli/common/flag_parsing.h"
#include "cli/common/strategy_flags.h"
#include "starling/core/error.h"
#include "starling/core/text.h"
#include "starling/join/rendezvous_protocol.h"
#include "starling/launch/launcher.h"
#include "starling/torch/model_names.h"
#include "starling/torch/sample_count.h"

namespace starling::cli {
namespace {

using torch::TrainOptions;

std::string read_model(const std::string& text) {
  const std::vector<std::string_view> names(std::begin(torch::kModelNames), std::end(torch::kModelNames));
  if (std::find(names.begin(), names.end(), text) != names.end()) return text;
  throw InvalidArgument(concat("--model: unknown model '", text, "'; allowed: ", join_texts(names)));
}

// What suits the model, where the user does not say.
optim::OptimizerSpec read_optimizer(const TrainText& text) {
  const bool adam = text.model == "charlm";
  optim::OptimizerSpec spec;
  spec.kind = optim::parse_optimizer(text.optimizer.value_or(adam ? "adam" : "sgd"), "--optimizer");
  const bool sgd = spec.kind == optim::OptimizerSpec::Kind::kSgd;
  const char* const rate = sgd ? (text.model == "resnet20" ? "0.05" : "0.02") : "0.002";
  spec.learning_rate = parse_number(text.lr.value_or(rate), "--lr", 0, kLarge);
  if (!sgd && text.momentum)
    throw InvalidArgument(concat("--momentum: '", *text.momentum, "'; allowed with sgd"));
  if (!sgd && text.nesterov) throw InvalidArgument("--nesterov: allowed with sgd");
  if (sgd) spec.momentum = parse_number(text.momentum.value_or("0.9"), "--momentum", 0, 1);
  spec.nesterov = text.nesterov;
  spec.weight_decay = parse_number(text.weight_decay.value_or("0"), "--weight-decay", 0, kLarge);
  spec.clip_norm = parse_number(text.clip_norm.value_or("0"), "--clip-norm", 0, kLarge);
  optim::check(spec);
  return spec;
}

// "0:4,3:2" is "0:4" and "3:2".
std::vector<std::string> split_all(const std::vector<std::string>& texts) {
  std::vector<std::string> parts;
  for (const std::string& text : texts) {
    for (std::string& part : split(text, ',')) parts.push_back(std::move(part));
  }
  return parts;
}

void read_cluster(const TrainText& text, TrainOptions& setting) {
  cluster::ClusterFlags flags = text.cluster;
  flags.slow = split_all(flags.slow);
  setting.cluster = cluster::make_cluster(flags);
  if (text.pace) setting.pace = positive_duration(*text.pace, "--pace");
}

void read_end(const TrainText& text, TrainOptions& setting) {
  if (text.epochs) setting.epochs = whole(*text.epochs, "--epochs", 1, kMostSteps);
  if (text.steps) setting.steps = whole(*text.steps, "--steps", 1, kMostSteps);
  if (text.max_seconds) {
    const double seconds = parse_number(*text.max_seconds, "--max-seconds", 0.001, 1e9);
    setting.until = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  }
  if (!text.epochs && !text.steps && !text.max_seconds) setting.epochs = 1;
  if (text.target_loss)
    setting.target_loss = parse_number(*text.target_loss, "--target-loss", -kLarge, kLarge);
  if (text.target_accuracy) {
    setting.target_accuracy = parse_number(*text.target_accuracy, "--target-accuracy", 0, 1);
  }
  if (text.target_loss && text.target_accuracy) {
    throw InvalidArgument("--target-loss and --target-accuracy; allowed: one of them");
  }
  setting.stop_at_target = !text.no_stop;
  if (text.no_stop && !text.target_loss && !text.target_accuracy) {
    throw InvalidArgument("--no-stop: allowed with --target-loss or --target-accuracy");
  }
}

void read_evaluation(const TrainText& text, TrainOptions& setting) {
  // The end at an accuracy has to be seen in time.
  const bool now = setting.target_accuracy && setting.stop_at_target;
  const std::string eval = text.eval.value_or(now ? "now" : "after");
  if (eval != "now" && eval != "after")
    throw InvalidArgument(concat("--eval: '", eval, "'; allowed: after, now"));
  if (now && eval == "after") {
    throw InvalidArgument(
        "--eval after with --target-accuracy; allowed: with --no-stop, since the run would not end there");
  }
  setting.evaluate = eval == "now" ? torch::EvalTime::kNow : torch::EvalTime::kAfter;
  if (text.eval_every) setting.eval_every = positive_duration(*text.eval_every, "--eval-every");
  if (text.eval_points)
    setting.eval_points = static_cast<int>(whole(*text.eval_points, "--eval-points", 1, 64));
}

void read_schedule(const TrainText& text, TrainOptions& setting) {
  setting.schedule = optim::parse_schedule(text.schedule, "--lr-schedule");
  if (text.warmup) setting.warmup = whole(*text.warmup, "--warmup", 0, kMostSteps);
  if (setting.schedule != optim::Schedule::Kind::kConstant && !setting.epochs && !setting.steps) {
    throw InvalidArgument(
        concat("--lr-schedule: '", text.schedule, "' needs --epochs or --steps, to know the end"));
  }
}

void read_checks(const TrainText& text, const TrainPlan& plan, TrainOptions& setting) {
  if (text.check_sync) {
    setting.check_sync = whole(*text.check_sync, "--check-sync", 1, kMostSteps);
    const auto options = strategy::Options::parse(plan.strategy->options, plan.strategy->name, plan.options);
    try {
      strategy::check_equal_models(*plan.strategy, options);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(concat("--check-sync: ", error.what()));
    }
  }
  if (text.checkpoint_every) {
    setting.checkpoint_every = whole(*text.checkpoint_every, "--checkpoint-every", 1, kMostSteps);
    if (!plan.out) throw InvalidArgument("--checkpoint-every needs --out, where the checkpoints go");
  }
  if (text.resume) setting.resume = std::filesystem::path(*text.resume) / "checkpoints";
  if (plan.out) setting.checkpoints = std::filesystem::path(*plan.out) / "checkpoints";
}

void read_plain(const TrainText& text, TrainPlan& plan) {
  if (!text.plain) return;
  if (text.launched || !text.steps)
    throw InvalidArgument("--plain: allowed with --steps, of starling-trainer itself");
  plan.plain = true;
}

void read_strategy(const TrainText& text, const std::vector<std::string>& own_flags, TrainPlan& plan) {
  plan.strategy = &strategy::find_strategy(text.strategy);
  plan.options = strategy_options(text, own_flags);
  const auto options = strategy::Options::parse(plan.strategy->options, plan.strategy->name, plan.options);
  plan.strategy->make(options, plan.workers);  // refuses what does not go together
}

void read_feed(const TrainText& text, TrainPlan& plan) {
  plan.data = text.data;
  plan.setting.batch = whole(text.batch, "--batch", 1, kLargestBatch);
  if (text.shards != "equal" && text.shards != "dynamic") {
    throw InvalidArgument(concat("--shards: '", text.shards, "'; allowed: equal, dynamic"));
  }
  plan.setting.dynamic_shards = text.shards == "dynamic";
}

// The last step, and one that depends on the files of this host.
void load_data(TrainPlan& plan) {
  TrainOptions& setting = plan.setting;
  setting.data = std::make_shared<const data::DataSet>(data::load(plan.data, "--data"));
  const bool is_text = std::holds_alternative<data::TextSet>(*setting.data);
  if (is_text != torch::learns_text(setting.model)) {
    throw InvalidArgument(concat("--model: ", setting.model, " learns ", is_text ? "pictures" : "text",
                                 ", and ", plan.data, " is ", is_text ? "text" : "pictures"));
  }
  torch::steps_per_epoch(torch::training_samples(*setting.data), setting.batch, plan.workers);
}

}  // namespace

strategy::OptionTexts strategy_options(const TrainText& text, const std::vector<std::string>& own_flags) {
  const strategy::StrategyEntry& row = strategy::find_strategy(text.strategy);
  strategy::OptionTexts options = read_strategy_flags(row, text.strategy_flags, own_flags);
  if (!text.servers) return options;
  const std::uint64_t servers = whole(*text.servers, "--servers", 0, 1);
  const bool has = std::any_of(row.options.begin(), row.options.end(),
                               [](const auto& spec) { return spec.name == "server"; });
  if (!has) {
    throw InvalidArgument(concat("--servers: '", *text.servers, "': strategy ", text.strategy,
                                 " has no service; allowed with ps"));
  }
  options["server"] = servers == 1 ? "own" : "beside";
  return options;
}

TrainPlan plan_flags(const TrainText& text, const std::vector<std::string>& own_flags) {
  TrainPlan plan;
  TrainOptions& setting = plan.setting;
  // Those that were started by others may be on several hosts.
  const int most = text.launched ? join::kMostMeetingRanks : launch::kMostWorkers;
  plan.workers = static_cast<int>(whole(text.cluster.workers.value_or("4"), "--workers", 1, most));
  read_strategy(text, own_flags, plan);
  plan.out = text.out ? text.out : text.resume;
  plan.force = text.force || (text.resume && !text.out);
  plan.json = text.json;
  plan.launched = text.launched;
  if (text.force && !text.out) throw InvalidArgument("--force needs --out, whose files it replaces");
  setting.model = read_model(text.model);
  setting.optimizer = read_optimizer(text);
  setting.threads = static_cast<int>(whole(text.threads, "--threads", 1, 1024));
  setting.seed = whole(text.seed, "--seed", 0, std::numeric_limits<long long>::max());
  read_cluster(text, setting);
  read_end(text, setting);
  read_plain(text, plan);
  read_evaluation(text, setting);
  read_schedule(text, setting);
  read_checks(text, plan, setting);
  if (text.link) plan.link = transport::parse_link(*text.link, "--link");
  read_feed(text, plan);
  return plan;
}

TrainPlan plan_training(const TrainText& text, const std::vector<std::string>& own_flags) {
  TrainPlan plan = plan_flags(text, own_flags);
  load_data(plan);
  return plan;
}

}  // namespace starling::cli
