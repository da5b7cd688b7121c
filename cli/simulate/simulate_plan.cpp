#include "cli/simulate/simulate_plan.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "cli/common/strategy_flags.h"
#include "cli/simulate/simulate_checks.h"
#include "starling/collective/select.h"
#include "starling/core/error.h"

namespace starling::cli {
namespace {

constexpr double kDefaultRate = 0.1;

void read_optimizer(const SimulateFlags& flags, SimulatePlan& plan) {
  sim::Simulation& simulation = plan.simulation;
  simulation.optimizer = optimizer_of(flags.optimizer, {}, kDefaultRate);
  plan.rate =
      scale_rate(flags.optimizer, static_cast<int>(simulation.cluster.workers.size()), simulation.optimizer);
}

cluster::Cluster read_cluster(const SimulateFlags& flags) {
  cluster::ClusterFlags texts = flags.cluster;
  if (flags.workers) texts.workers = flags.workers.text();
  return cluster::make_cluster(texts);
}

sim::WorkloadSetting read_workload(const SimulateFlags& flags, std::size_t workers) {
  sim::WorkloadSetting setting;
  setting.seed = flags.data_seed.value_or(1);
  setting.workers = static_cast<int>(workers);
  setting.parameters = flags.params.value_or(100);
  if (flags.batch) setting.batch = *flags.batch;
  setting.noise = flags.noise.value_or(1);
  return setting;
}

void read_end(const SimulateFlags& flags, sim::Simulation& simulation) {
  if (flags.time) {
    simulation.until = Time(*flags.time);
    simulation.steps = std::numeric_limits<std::uint64_t>::max();
  }
  if (flags.steps) simulation.steps = *flags.steps;
  simulation.target_loss = flags.target_loss.optional();
  simulation.target_accuracy = flags.target_accuracy.optional();
  simulation.stop_at_target = flags.stop_at_target;
  simulation.evaluate_every = flags.eval_steps.value_or(1);
}

}  // namespace

SimulatePlan plan_simulation(const SimulateFlags& flags, const std::vector<std::string>& own_flags,
                             std::size_t memory) {
  SimulatePlan plan;
  sim::Simulation& simulation = plan.simulation;
  simulation.strategy = &strategy::find_strategy(flags.strategy);
  simulation.options = read_strategy_flags(*simulation.strategy, flags.strategy_flags, own_flags);
  simulation.cluster = read_cluster(flags);
  simulation.end_on_loss = flags.on_loss.value_or(false);
  read_optimizer(flags, plan);
  if (flags.nonfinite) simulation.nonfinite = strategy::parse_nonfinite(*flags.nonfinite, "--nonfinite");
  simulation.step_seconds = seconds_of(flags.step_time.value_or(std::chrono::milliseconds(100)));
  simulation.pass_seconds = seconds_of(flags.pass_overhead.value_or(Duration{}));
  read_end(flags, simulation);
  plan.study = static_cast<bool>(flags.seeds);
  plan.seeds = flags.seeds.value_or({flags.seed.value_or(1)});
  simulation.seed = plan.seeds.front();
  simulation.record = flags.record.value_or({});
  collective::Selection::from_environment();  // refuses a bad one

  const sim::WorkloadSetting setting = read_workload(flags, simulation.cluster.workers.size());
  check_memory(simulation, flags.params ? setting.parameters : 0, memory);
  simulation.workload = sim::make_workload(flags.workload, setting, "--workload");
  check_use(flags);
  check_targets(simulation, flags.workload);
  sim::check(simulation);
  plan.workload = flags.workload;
  plan.out = flags.out;
  plan.force = flags.force;
  plan.json = flags.json;
  return plan;
}

std::uint64_t least_bytes(const SimulatePlan& plan) {
  constexpr double kBytesPerStep = 100;
  constexpr double kMost = 1e18;
  if (plan.study) return 0;
  return static_cast<std::uint64_t>(std::min(kMost, kBytesPerStep * least_spans(plan.simulation)));
}

namespace {

bool may_end(const cluster::Fault& fault, const record::RankRecord& record) {
  using Kind = cluster::Fault::Kind;
  if (fault.kind == Kind::kCut) return fault.subject == record.host;
  const bool ends = fault.kind == Kind::kKill || fault.kind == Kind::kStop ||
                    (fault.kind == Kind::kPause && fault.to >= Time(kForever));
  return ends && fault.subject == record.rank;
}

}  // namespace

std::string unplanned_end(const SimulatePlan& plan, const record::RunRecord& run) {
  const std::vector<cluster::Fault>& faults = plan.simulation.cluster.faults;
  for (const record::RankRecord& record : run.ranks) {
    const bool planned = std::any_of(faults.begin(), faults.end(),
                                     [&](const cluster::Fault& fault) { return may_end(fault, record); });
    if (record.ended.empty() || planned) continue;
    return concat("worker ", record.rank, " ended after ", record.journal.steps, " steps: ", record.ended);
  }
  return "";
}

}  // namespace starling::cli
