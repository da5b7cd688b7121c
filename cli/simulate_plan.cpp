#include "cli/simulate_plan.h"

#include <limits>

#include "cli/strategy_flags.h"
#include "starling/core/error.h"

namespace starling::cli {
namespace {

constexpr long long kMostSteps = 1'000'000'000;
constexpr long long kMostParameters = 1'000'000'000;
constexpr long long kMostSeeds = 100'000;
constexpr double kLarge = 1e12;

std::uint64_t whole(const std::string& text, std::string_view flag, long long lowest, long long highest) {
  return static_cast<std::uint64_t>(parse_integer(text, flag, lowest, highest));
}

// "7", or "1..100" with both ends.
std::vector<std::uint64_t> read_seeds(const SimulateText& text) {
  constexpr auto kHighest = std::numeric_limits<long long>::max();
  if (text.seeds.empty()) return {whole(text.seed, "--seed", 0, kHighest)};
  const std::size_t dots = text.seeds.find("..");
  if (dots == std::string::npos) {
    throw InvalidArgument(concat("--seeds: '", text.seeds, "'; allowed: FIRST..LAST, as in 1..100"));
  }
  const std::uint64_t first = whole(text.seeds.substr(0, dots), "--seeds", 0, kHighest);
  const std::uint64_t last = whole(text.seeds.substr(dots + 2), "--seeds", 0, kHighest);
  if (last < first || last - first >= kMostSeeds) {
    throw InvalidArgument(concat("--seeds: '", text.seeds, "'; allowed: FIRST..LAST with 1 to ", kMostSeeds,
                                 " seeds, the smaller one first"));
  }
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = first; seed <= last; ++seed) seeds.push_back(seed);
  return seeds;
}

optim::OptimizerSpec read_optimizer(const SimulateText& text) {
  optim::OptimizerSpec spec;
  spec.kind = optim::parse_optimizer(text.optimizer, "--optimizer");
  spec.learning_rate = parse_number(text.lr, "--lr", 0, kLarge);
  spec.momentum = parse_number(text.momentum, "--momentum", 0, 1);
  spec.weight_decay = parse_number(text.weight_decay, "--weight-decay", 0, kLarge);
  spec.nesterov = text.nesterov;
  optim::check(spec);
  return spec;
}

sim::WorkloadSetting read_workload(const SimulateText& text, std::size_t workers) {
  sim::WorkloadSetting setting;
  setting.seed = whole(text.data_seed, "--data-seed", 0, std::numeric_limits<long long>::max());
  setting.workers = static_cast<int>(workers);
  setting.parameters = whole(text.params, "--params", 1, kMostParameters);
  if (!text.batch.empty()) setting.batch = whole(text.batch, "--batch", 1, kMostParameters);
  setting.noise = parse_number(text.noise, "--noise", 0, kLarge);
  return setting;
}

void read_end(const SimulateText& text, sim::Simulation& simulation) {
  if (!text.time.empty()) {
    simulation.until = Time(parse_duration(text.time, "--time"));
    if (simulation.until <= Time{})
      throw InvalidArgument(concat("--time: '", text.time, "'; allowed: more than 0"));
    simulation.steps = std::numeric_limits<std::uint64_t>::max();
  }
  if (!text.steps.empty()) simulation.steps = whole(text.steps, "--steps", 1, kMostSteps);
  if (!text.target_loss.empty()) {
    simulation.target_loss = parse_number(text.target_loss, "--target-loss", -kLarge, kLarge);
  }
  if (!text.target_accuracy.empty()) {
    simulation.target_accuracy = parse_number(text.target_accuracy, "--target-accuracy", 0, 1);
  }
  simulation.stop_at_target = text.stop_at_target;
  simulation.evaluate_every = whole(text.eval_every, "--eval-every", 1, kMostSteps);
}

// What cannot be reached is refused before the work.
void check_targets(const sim::Simulation& simulation, const std::string& workload) {
  const bool any = simulation.target_loss || simulation.target_accuracy;
  if (simulation.stop_at_target && !any) {
    throw InvalidArgument("--stop-at-target needs --target-loss or --target-accuracy");
  }
  if (any && simulation.workload->ghost()) {
    throw InvalidArgument(concat("--target-", simulation.target_loss ? "loss" : "accuracy", ": workload ",
                                 workload,
                                 " has times and sizes only; allowed with quadratic, logistic, mlp"));
  }
  if (!simulation.target_accuracy) return;
  const std::vector<float> zeros(simulation.workload->parameters());
  if (!simulation.workload->evaluate(zeros).accuracy) {
    throw InvalidArgument(
        concat("--target-accuracy: workload ", workload, " has no accuracy; allowed with logistic, mlp"));
  }
}

}  // namespace

SimulatePlan plan_simulation(const SimulateText& text, const std::vector<std::string>& own_flags) {
  SimulatePlan plan;
  sim::Simulation& simulation = plan.simulation;
  simulation.strategy = &strategy::find_strategy(text.strategy);
  simulation.options = read_strategy_flags(*simulation.strategy, text.strategy_flags, own_flags);
  simulation.cluster = sim::make_cluster(text.cluster);
  simulation.workload =
      sim::make_workload(text.workload, read_workload(text, simulation.cluster.workers.size()), "--workload");
  simulation.optimizer = read_optimizer(text);
  simulation.step_seconds =
      std::chrono::duration<double>(parse_duration(text.step_time, "--step-time")).count();
  if (simulation.step_seconds <= 0) {
    throw InvalidArgument(concat("--step-time: '", text.step_time, "'; allowed: more than 0"));
  }
  read_end(text, simulation);
  check_targets(simulation, text.workload);
  sim::check(simulation);
  plan.seeds = read_seeds(text);
  simulation.seed = plan.seeds.front();
  plan.workload = text.workload;
  plan.out = text.out;
  plan.force = text.force;
  plan.json = text.json;
  return plan;
}

}  // namespace starling::cli
