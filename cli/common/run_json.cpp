#include "cli/common/run_json.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "starling/core/version.h"

namespace starling::cli {
namespace {

using Json = nlohmann::ordered_json;

Json fault_json(const cluster::Fault& fault) {
  using Kind = cluster::Fault::Kind;
  constexpr const char* kNames[] = {"slow", "pause", "link", "kill"};
  Json json{{"kind", kNames[static_cast<int>(fault.kind)]}};
  json[fault.kind == Kind::kLink ? "host" : "worker"] = fault.subject;
  json["from_seconds"] = seconds_of(fault.from.time_since_epoch());
  if (fault.kind != Kind::kKill && fault.to < Time(kForever)) {
    json["to_seconds"] = seconds_of(fault.to.time_since_epoch());
  }
  if (fault.kind == Kind::kSlow || fault.kind == Kind::kLink) json["factor"] = fault.factor;
  return json;
}

Json link_json(const cluster::Link& link) {
  return {{"bytes_per_second", link.bytes_per_second}, {"latency_seconds", seconds_of(link.latency)}};
}

Json end_json(const sim::Simulation& simulation) {
  Json json = Json::object();
  if (simulation.steps < static_cast<std::uint64_t>(-1)) json["steps"] = simulation.steps;
  if (simulation.until < Time(kForever)) json["seconds"] = seconds_of(simulation.until.time_since_epoch());
  if (simulation.target_loss) json["target_loss"] = *simulation.target_loss;
  if (simulation.target_accuracy) json["target_accuracy"] = *simulation.target_accuracy;
  json["stop_at_target"] = simulation.stop_at_target;
  return json;
}

}  // namespace

Json cluster_json(const cluster::Cluster& cluster) {
  Json json{{"workers", Json::array()}, {"hosts", Json::array()}, {"faults", Json::array()}};
  for (const cluster::WorkerSpec& worker : cluster.workers) {
    Json entry{{"host", worker.host}, {"speed", worker.speed}, {"jitter", cluster::text_of(worker.jitter)}};
    if (worker.jitter != cluster::Jitter{}) entry["jitter_span"] = cluster::text_of(worker.jitter_span);
    if (worker.joins > Time{}) entry["joins_seconds"] = seconds_of(worker.joins.time_since_epoch());
    json["workers"].push_back(std::move(entry));
  }
  for (const cluster::HostSpec& host : cluster.hosts) {
    json["hosts"].push_back(
        {{"name", host.name}, {"outside", link_json(host.outside)}, {"inside", link_json(host.inside)}});
  }
  for (const cluster::Fault& fault : cluster.faults) json["faults"].push_back(fault_json(fault));
  return json;
}

Json optimizer_json(const optim::OptimizerSpec& spec, const RateOfWorkers& rate) {
  Json json{{"kind", optim::name_of(spec.kind)}, {"learning_rate", spec.learning_rate},
            {"momentum", spec.momentum},         {"nesterov", spec.nesterov},
            {"weight_decay", spec.weight_decay}, {"clip_norm", spec.clip_norm}};
  json["scale_lr"] = optim::name_of(rate.scale);
  json["learning_rate_of_one"] = rate.of_one;
  if (spec.kind == optim::OptimizerSpec::Kind::kLars) json["trust"] = spec.trust;
  if (by_tensor(spec.kind)) json["exclude"] = spec.exclude_vectors ? "vectors" : "none";
  return json;
}

std::string config_json(const SimulatePlan& plan, const std::vector<std::string>& flags) {
  const sim::Simulation& simulation = plan.simulation;
  const strategy::StrategyEntry& row = *simulation.strategy;
  Json json;
  json["starling"] = version();
  json["compiler"] = __VERSION__;
  json["command"] = "simulate";
  json["flags"] = flags;
  if (const char* const table = std::getenv("STARLING_ALLREDUCE")) {
    json["environment"]["STARLING_ALLREDUCE"] = table;
  }
  json["seeds"] = plan.seeds;
  json["strategy"] = row.name;
  json["options"] = strategy::Options::parse(row.options, row.name, simulation.options).recorded();
  json["workload"] = plan.workload;
  json["parameters"] = simulation.workload->parameters();
  json["batch"] = simulation.workload->batch();
  json["step_seconds"] = simulation.step_seconds;
  if (simulation.pass_seconds > 0) json["pass_seconds"] = simulation.pass_seconds;
  json["optimizer"] = optimizer_json(simulation.optimizer, plan.rate);
  json["nonfinite"] = strategy::name_of(simulation.nonfinite);
  json["end"] = end_json(simulation);
  json["cluster"] = cluster_json(simulation.cluster);
  // Names of files need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace starling::cli
