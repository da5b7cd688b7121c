// The plan that `starling train` hands to its workers.
#include "cli/train/train_plan_json.h"

#include <gtest/gtest.h>

#include "starling/core/error.h"

namespace starling::cli {
namespace {

using std::chrono::milliseconds;

// Every field has a value other than its default.
torch::TrainOptions all_options() {
  torch::TrainOptions setting;
  setting.model = "lenet";
  setting.batch = 7;
  setting.dynamic_shards = true;
  setting.seed = 0xffff'ffff'ffff'fff1;
  setting.threads = 3;
  setting.optimizer = {.kind = optim::OptimizerSpec::Kind::kAdamW,
                       .learning_rate = 0.1,
                       .weight_decay = 1e-17,
                       .momentum = 1.0 / 3,
                       .dampening = 0.25,
                       .nesterov = true,
                       .beta1 = 0.7,
                       .beta2 = 0.8,
                       .epsilon = 1e-300,
                       .trust = 0.02,
                       .exclude_vectors = false,
                       .clip_norm = 5};
  setting.schedule = optim::Schedule::Kind::kCosine;
  setting.warmup = {.steps = 11, .epochs = 0.5};
  setting.power = 1.5;
  setting.end_rate = 1e-4;
  setting.nonfinite = strategy::NonFinite::kStop;
  setting.epochs = 2;
  setting.steps = 100;
  setting.until = milliseconds(1234);
  setting.target_loss = 0.1;
  setting.target_accuracy = 0.97;
  setting.stop_at_target = false;
  setting.cluster = cluster::make_cluster({.workers = "3",
                                           .hosts = "2",
                                           .network = "3e9/10us",
                                           .inside = "nvlink",
                                           .jitter = "bernoulli:0.1:5",
                                           .jitter_span = "piece",
                                           .slow = {"0:3,1:2@1s-2s"},
                                           .pause = {"1@5s"},
                                           .link = {"1:10"},
                                           .kill = {"2@15s"},
                                           .join = {"2@1s"}});
  setting.pace = milliseconds(20);
  setting.evaluate = torch::EvalTime::kNow;
  setting.eval_every = milliseconds(50);
  setting.eval_points = 5;
  setting.check_sync = 3;
  setting.checkpoint_every = 10;
  setting.checkpoints = "a/checkpoints";
  setting.resume = "b/checkpoints";
  setting.record = {record::RecordMode::kFull, 1000};
  return setting;
}

TrainPlan full_plan() {
  TrainPlan plan;
  plan.setting = all_options();
  plan.strategy = &strategy::find_strategy("ripples");
  plan.options = {{"group-size", "3"}, {"period", "2"}};
  plan.workers = 3;
  plan.rate = {optim::RateScale::kSqrt, 0.05};
  plan.link = transport::parse_link("40gbit/5us", "");
  plan.data = "noise:100";
  plan.out = "not \xff UTF-8";
  plan.force = true;
  plan.json = true;
  return plan;
}

TEST(TrainPlanJson, EveryFieldComesBack) {
  const nlohmann::json written = to_json(all_options());
  EXPECT_EQ(to_json(options_from_json(written)), written);
  const nlohmann::json defaults = to_json(torch::TrainOptions{});
  ASSERT_EQ(defaults.size(), written.size());
  for (const auto& [name, value] : defaults.items()) EXPECT_NE(value, written[name]) << name;
}

TEST(TrainPlanJson, NumbersKeepTheirBits) {
  const torch::TrainOptions setting = options_from_json(to_json(all_options()));
  const torch::TrainOptions given = all_options();
  EXPECT_EQ(setting.seed, given.seed);
  EXPECT_EQ(setting.optimizer, given.optimizer);
  EXPECT_EQ(setting.until, given.until);
  ASSERT_EQ(setting.cluster.workers.size(), 3U);
  EXPECT_EQ(setting.cluster.workers[0].speed, given.cluster.workers[0].speed);
  EXPECT_EQ(setting.cluster.workers[1].jitter, given.cluster.workers[1].jitter);
  EXPECT_EQ(setting.cluster.workers[1].jitter_span, cluster::JitterSpan{0});
  EXPECT_EQ(setting.cluster.workers[2].joins, given.cluster.workers[2].joins);
  EXPECT_EQ(setting.cluster.network, given.cluster.network);
  EXPECT_EQ(setting.cluster.faults.size(), given.cluster.faults.size());
}

TEST(TrainPlanJson, APlanIsHandedOverByADescriptor) {
  const TrainPlan given = full_plan();
  const TrainPlan plan = read_plan(open_plan(given));
  EXPECT_EQ(to_json(plan), to_json(given));
  EXPECT_EQ(plan.strategy, given.strategy);
  EXPECT_EQ(plan.options, given.options);
  EXPECT_EQ(plan.link, given.link);
  EXPECT_EQ(plan.out, given.out);
  const nlohmann::json defaults = [] {
    TrainPlan other;
    other.strategy = &strategy::find_strategy("allreduce");
    return to_json(other);
  }();
  for (const auto& [name, value] : defaults.items()) EXPECT_NE(value, to_json(given)[name]) << name;
}

TEST(TrainPlanJson, OtherJsonIsAnError) {
  EXPECT_THROW(plan_from_json(nlohmann::json::object()), Error);
  EXPECT_THROW(plan_from_json(nlohmann::json()), Error);
  nlohmann::json wrong = to_json(full_plan());
  wrong["workers"] = "three";
  EXPECT_THROW(plan_from_json(wrong), Error);
}

}  // namespace
}  // namespace starling::cli
