#include "cli/train/train_output.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/common/run_json.h"
#include "starling/core/version.h"
#include "starling/record/report.h"
#include "starling/record/run_files.h"
#include "starling/record/summary.h"
#include "starling/torch/reachable_run_folder.h"

namespace starling::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string config(const TrainPlan& plan, const std::vector<std::string>& words) {
  const torch::TrainOptions& setting = plan.setting;
  Json json;
  json["version"] = version();
  json["command"] = "train";
  json["flags"] = words;
  json["strategy"] = plan.strategy->name;
  json["options"] =
      strategy::Options::parse(plan.strategy->options, plan.strategy->name, plan.options).recorded();
  json["workers"] = plan.workers;
  json["model"] = setting.model;
  json["data"] = plan.data;
  json["shards"] = setting.dynamic_shards ? "dynamic" : "equal";
  json["batch"] = setting.batch;
  json["seed"] = setting.seed;
  json["optimizer"] = optimizer_json(setting.optimizer, plan.rate);
  json["lr_schedule"] = optim::name_of(setting.schedule);
  if (setting.schedule == optim::Schedule::Kind::kPolynomial) {
    json["lr_power"] = setting.power;
    json["lr_end"] = setting.end_rate;
  }
  json["warmup"] = setting.warmup.epochs > 0 ? Json(text_of(setting.warmup)) : Json(setting.warmup.steps);
  json["nonfinite"] = strategy::name_of(setting.nonfinite);
  if (setting.pace) json["pace_seconds"] = seconds_of(*setting.pace);
  if (plan.link) json["link"] = transport::text_of(*plan.link);
  json["cluster"] = cluster_json(setting.cluster);
  return json.dump(2) + "\n";
}

}  // namespace

std::optional<record::RunFolder> open_run_folder(const TrainPlan& plan,
                                                 const std::vector<std::string>& words) {
  if (!plan.out) return {};
  std::optional<record::RunFolder> folder(std::in_place, *plan.out, plan.force);
  folder->write("run.json", config(plan, words));
  return folder;
}

void write_run(const TrainPlan& plan, const record::RunRecord& run, const data::TensorFile& model) {
  const record::WaitAnalysis waits = record::analyse_waits(run);
  const std::string summary = record::summary_json(run, waits);
  if (plan.out) {
    const record::RunFolder folder = torch::reachable_run_folder(*plan.out);
    data::write_safetensors(folder.path() / "model.safetensors", model);
    for (const std::string& failure : record::write_run_files(folder, run, waits, summary))
      fmt::print(stderr, "starling: {}; the model is complete\n", failure);
  }
  fmt::print("{}", plan.json ? summary : record::report_text(run, waits));
  if (plan.out && !plan.json) fmt::print("files in {}\n", *plan.out);
}

}  // namespace starling::cli
