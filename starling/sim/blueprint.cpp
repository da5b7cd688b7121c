#include "starling/sim/blueprint.h"

#include <algorithm>

#include "starling/core/error.h"

namespace starling::sim {

namespace {

// A model without times of its own spreads its step over its sections by size: a third forward, the rest
// backward.
StepTimes step_times(const Workload& workload, double seconds) {
  if (auto times = workload.times()) return *times;
  StepTimes times;
  const auto all = static_cast<double>(workload.parameters());
  for (const strategy::Section& section : workload.sections()) {
    const double share = seconds * static_cast<double>(section.count) / all;
    times.forward.push_back(share / 3);
    times.backward.push_back(share * 2 / 3);
  }
  return times;
}

void place_ranks(Blueprint& blueprint, const cluster::Cluster& cluster, strategy::Placement service) {
  strategy::RunInfo& place = blueprint.place;
  place.workers = static_cast<int>(cluster.workers.size());
  place.everyone = strategy::ranks_up_to(place.workers);
  blueprint.hosts = cluster.hosts;
  for (const cluster::WorkerSpec& worker : cluster.workers) {
    place.host_of_rank.push_back(worker.host);
    place.starts.push_back(worker.joins == Time{});
  }
  if (service != strategy::Placement::kOwnRank) return;
  place.server = place.workers;
  place.host_of_rank.push_back(static_cast<int>(cluster.hosts.size()));
  blueprint.hosts.push_back({"service", cluster.network, cluster.network});
}

}  // namespace

Blueprint make_blueprint(const Simulation& simulation, strategy::Placement service) {
  Blueprint blueprint;
  place_ranks(blueprint, simulation.cluster, service);
  const Workload& workload = *simulation.workload;
  blueprint.workload = &workload;
  blueprint.times = step_times(workload, simulation.step_seconds);
  blueprint.pass_seconds = simulation.pass_seconds;
  strategy::RunInfo& place = blueprint.place;
  place.optimizer = simulation.optimizer;
  place.nonfinite = simulation.nonfinite;
  place.elements = workload.parameters();
  place.sections = workload.sections();
  place.ghost = workload.ghost();
  if (!place.ghost) {
    place.initial_model.resize(place.elements);
    Random random = Random(simulation.seed).fork(kModel);
    workload.initialize(place.initial_model, random);
  }
  return blueprint;
}

std::unique_ptr<strategy::Strategy> make_strategy(const Simulation& simulation) {
  const strategy::StrategyEntry& row = *simulation.strategy;
  const auto& workers = simulation.cluster.workers;
  for (std::size_t rank = 0; rank < workers.size(); ++rank) {
    if (workers[rank].joins == Time{} || row.promises.takes_joiners) continue;
    std::vector<std::string> takers;
    for (const strategy::StrategyEntry& other : strategy::registry()) {
      if (other.promises.takes_joiners) takers.push_back(other.name);
    }
    throw InvalidArgument(concat("worker ", rank, " joins later, which strategy ", row.name,
                                 " does not support; allowed with ", join_texts(takers)));
  }
  const auto options = strategy::Options::parse(row.options, row.name, simulation.options);
  const auto elsewhere = [&](const cluster::WorkerSpec& worker) {
    return worker.host != workers.front().host;
  };
  check_hosts(row, options, std::ranges::none_of(workers, elsewhere));
  return row.make(options, static_cast<int>(workers.size()));
}

void check(const Simulation& simulation) { make_strategy(simulation); }

}  // namespace starling::sim
