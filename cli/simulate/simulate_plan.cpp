#include "cli/simulate/simulate_plan.h"

#include <algorithm>
#include <limits>

#include "cli/common/flag_parsing.h"
#include "cli/common/strategy_flags.h"
#include "cli/simulate/simulate_checks.h"
#include "starling/collective/select.h"
#include "starling/core/error.h"

namespace starling::cli {
namespace {

constexpr long long kMostParameters = 1'000'000'000;
constexpr long long kMostSeeds = 100'000;

constexpr auto kHighestSeed = std::numeric_limits<long long>::max();

// "1..100", both ends included.
std::vector<std::uint64_t> read_seeds(const std::string& text) {
  const std::string what = concat("--seeds: '", text, "'");
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) throw InvalidArgument(concat(what, "; allowed: FIRST..LAST, as in 1..100"));
  const std::uint64_t first = whole(text.substr(0, dots), what, 0, kHighestSeed);
  const std::uint64_t last = whole(text.substr(dots + 2), what, 0, kHighestSeed);
  if (last < first || last - first >= kMostSeeds) {
    throw InvalidArgument(
        concat(what, "; allowed: FIRST..LAST with 1 to ", kMostSeeds, " seeds, the smaller one first"));
  }
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = first; seed <= last; ++seed) seeds.push_back(seed);
  return seeds;
}

optim::OptimizerSpec read_optimizer(const SimulateText& text) {
  optim::OptimizerSpec spec;
  spec.kind = optim::parse_optimizer(text.optimizer, "--optimizer");
  spec.learning_rate = parse_number(text.lr, "--lr", 0, kLarge);
  spec.momentum = parse_number(text.momentum.value_or("0"), "--momentum", 0, 1);
  spec.weight_decay = parse_number(text.weight_decay, "--weight-decay", 0, kLarge);
  spec.clip_norm = parse_number(text.clip_norm, "--clip-norm", 0, kLarge);
  spec.nesterov = text.nesterov;
  optim::check(spec);
  return spec;
}

sim::WorkloadSetting read_workload(const SimulateText& text, std::size_t workers) {
  sim::WorkloadSetting setting;
  setting.seed = whole(text.data_seed.value_or("1"), "--data-seed", 0, kHighestSeed);
  setting.workers = static_cast<int>(workers);
  setting.parameters = whole(text.params.value_or("100"), "--params", 1, kMostParameters);
  if (text.batch) setting.batch = whole(*text.batch, "--batch", 1, kLargestBatch);
  setting.noise = parse_number(text.noise.value_or("1"), "--noise", 0, kLarge);
  return setting;
}

void read_end(const SimulateText& text, sim::Simulation& simulation) {
  if (text.time) {
    simulation.until = Time(positive_duration(*text.time, "--time"));
    simulation.steps = std::numeric_limits<std::uint64_t>::max();
  }
  if (text.steps) simulation.steps = whole(*text.steps, "--steps", 1, kMostSteps);
  if (text.target_loss) {
    simulation.target_loss = parse_number(*text.target_loss, "--target-loss", -kLarge, kLarge);
  }
  if (text.target_accuracy) {
    simulation.target_accuracy = parse_number(*text.target_accuracy, "--target-accuracy", 0, 1);
  }
  simulation.stop_at_target = text.stop_at_target;
  simulation.evaluate_every = whole(text.eval_every, "--eval-every", 1, kMostSteps);
}

}  // namespace

SimulatePlan plan_simulation(const SimulateText& text, const std::vector<std::string>& own_flags,
                             std::size_t memory) {
  SimulatePlan plan;
  sim::Simulation& simulation = plan.simulation;
  simulation.strategy = &strategy::find_strategy(text.strategy);
  simulation.options = read_strategy_flags(*simulation.strategy, text.strategy_flags, own_flags);
  simulation.cluster = cluster::make_cluster(text.cluster);
  simulation.optimizer = read_optimizer(text);
  simulation.step_seconds = seconds_of(positive_duration(text.step_time.value_or("100ms"), "--step-time"));
  read_end(text, simulation);
  plan.study = text.seeds.has_value();
  plan.seeds = text.seeds ? read_seeds(*text.seeds)
                          : std::vector{whole(text.seed.value_or("1"), "--seed", 0, kHighestSeed)};
  simulation.seed = plan.seeds.front();
  collective::Selection::from_environment();  // refuses a bad one

  const sim::WorkloadSetting setting = read_workload(text, simulation.cluster.workers.size());
  check_memory(simulation, text.params ? setting.parameters : 0, memory);
  simulation.workload = sim::make_workload(text.workload, setting, "--workload");
  check_use(text);
  check_targets(simulation, text.workload);
  sim::check(simulation);
  plan.workload = text.workload;
  plan.out = text.out;
  plan.force = text.force;
  plan.json = text.json;
  return plan;
}

std::uint64_t least_bytes(const SimulatePlan& plan) {
  constexpr double kBytesPerStep = 100;
  constexpr double kMost = 1e18;
  if (plan.study) return 0;
  return static_cast<std::uint64_t>(
      std::min(kMost, kBytesPerStep * known_steps(plan.simulation).value_or(0)));
}

std::string unplanned_end(const SimulatePlan& plan, const record::RunRecord& run) {
  const std::vector<cluster::Fault>& faults = plan.simulation.cluster.faults;
  for (const record::RankRecord& record : run.ranks) {
    const bool planned = std::any_of(faults.begin(), faults.end(), [&](const cluster::Fault& fault) {
      const bool ends = fault.kind == cluster::Fault::Kind::kKill ||
                        (fault.kind == cluster::Fault::Kind::kPause && fault.to >= Time(kForever));
      return ends && fault.subject == record.rank;
    });
    if (record.ended.empty() || planned) continue;
    return concat("worker ", record.rank, " ended after ", record.journal.steps, " steps: ", record.ended);
  }
  return "";
}

}  // namespace starling::cli
