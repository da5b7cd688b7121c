#include <limits>

#include "cli/common/shared_flags.h"
#include "cli/simulate/simulate_plan.h"
#include "starling/core/error.h"

namespace starling::cli {
namespace {

constexpr long long kMostParameters = 1'000'000'000;
constexpr auto kHighestSeed = std::numeric_limits<long long>::max();

Grammar<std::string> network() {
  return text_like("LINK", [](const std::string& text, auto flag) { transport::parse_link(text, flag); });
}

Grammar<std::string> fault(const char* type) {
  return text_like(type, [](const std::string& text, auto flag) { cluster::check_form(flag, text); });
}

void add_cluster_flags(CLI::App& command, SimulateFlags& flags) {
  cluster::ClusterFlags& cluster = flags.cluster;
  const SharedFlags& shared = shared_flags();
  constexpr const char* kGroup = "Cluster (docs/cluster.md)";
  const auto add_own = [&](const char* name, const char* help, const Grammar<std::string>& grammar,
                           auto& value) {
    add(command, Flag<std::string>{name, help, grammar}, value)->group(kGroup);
  };
  add_own("--cluster", "TOML file; the flags below change what it says", any_text(), cluster.file);
  add(command, shared.workers, flags.workers)->group(kGroup)->default_str("4");
  add_own("--hosts", "number of hosts, over which the workers are spread (one each)", any_text(),
          cluster.hosts);
  add_own("--network", "links between hosts: 1gbe, 10gbe, 25gbe, 100gib, nvlink, or 40gbit/5us", network(),
          cluster.network);
  add_own("--inside", "links inside a host (shm)", network(), cluster.inside);
  add(command, shared.jitter, cluster.jitter)->group(kGroup);
  add(command, shared.jitter_span, cluster.jitter_span)->group(kGroup)->default_str("step");
  add(command, shared.slow, cluster.slow)->group(kGroup);
  add(command, shared.pause, cluster.pause)->group(kGroup);
  add_own("--link-slow", "divides the bandwidth of hosts; repeatable", fault("HOST:FACTOR[@FROM[-TO]],..."),
          cluster.link);
  add(command, shared.kill, cluster.kill)->group(kGroup);
  add_own("--stop", "stops workers entirely, so that they do not even answer; repeatable",
          fault("WORKER@FROM[-TO],..."), cluster.stop);
  add_own("--cut", "hosts that are cut off reach each other and no other; repeatable",
          fault("HOST@FROM[-TO],..."), cluster.cut);
  add(command, shared.on_loss, flags.on_loss)->group(kGroup)->default_str("go-on");
  add_own("--join", "lets workers join later; repeatable", fault("WORKER@AT,..."), cluster.join);
}

void add_learning_flags(CLI::App& command, SimulateFlags& flags) {
  const SharedFlags& shared = shared_flags();
  constexpr const char* kGroup = "Training (docs/workloads.md)";
  command.add_option("--workload", flags.workload, "quadratic, logistic, mlp, or replay:MODEL")
      ->capture_default_str()
      ->group(kGroup);
  const auto add_own = [&](const char* name, const char* help, const auto& grammar, auto& value) {
    return add(command, Flag<std::decay_t<decltype(*value)>>{name, help, grammar}, value)->group(kGroup);
  };
  add_own("--params", "parameters of quadratic and logistic", whole_number(1, kMostParameters), flags.params)
      ->default_str("100");
  add(command, shared.batch, flags.batch)->group(kGroup)->default_str("the workload's own");
  add_own("--noise", "noise of a sample's gradient in quadratic", number(0, kLarge), flags.noise)
      ->default_str("1");
  add_own("--data-seed", "seed of generated data", whole_number(0, kHighestSeed), flags.data_seed)
      ->default_str("1");
  add(command, shared.step_time, flags.step_time)->group(kGroup)->default_str("100ms");
  add_own("--pass-overhead", "what a forward and backward pass takes at speed 1, whatever its samples",
          time(), flags.pass_overhead)
      ->default_str("0s");
  add(command, shared.nonfinite, flags.nonfinite)->group(kGroup)->default_str("used like any other");
}

void add_optimizer_flags(CLI::App& command, OptimizerFlags& flags) {
  const SharedFlags& shared = shared_flags();
  constexpr const char* kGroup = "Optimiser (docs/workloads.md, docs/large_batches.md)";
  add(command, shared.optimizer, flags.kind)->group(kGroup)->default_str("sgd");
  add(command, shared.lr, flags.lr)->group(kGroup)->default_str("0.1");
  add(command, shared.scale_lr, flags.scale_lr)->group(kGroup)->default_str("none");
  add(command, shared.momentum, flags.momentum)->group(kGroup)->default_str("0");
  add(command, shared.nesterov, flags.nesterov)->group(kGroup);
  add(command, shared.weight_decay, flags.weight_decay)->group(kGroup)->default_str("0");
  add(command, shared.trust, flags.trust)->group(kGroup)->default_str(kTrustDefault);
  add(command, shared.exclude, flags.exclude_vectors)->group(kGroup)->default_str("vectors");
  add(command, shared.clip_norm, flags.clip_norm)->group(kGroup)->default_str("0");
}

// Its time between two evaluations is in steps; that of `train` is a time.
void refuse_eval_every(CLI::App& command) {
  const auto refuse = [](const CLI::results_t&) -> bool {
    throw InvalidArgument("--eval-every: spelt --eval-steps in simulate, which counts steps");
  };
  command.add_option("--eval-every", CLI::callback_t(refuse))->group("");
}

void add_run_flags(CLI::App& command, SimulateFlags& flags) {
  const SharedFlags& shared = shared_flags();
  constexpr const char* kGroup = "Run (docs/runs.md)";
  add(command, shared.steps, flags.steps)->group(kGroup)->default_str("100, or as many as fit into --time");
  const auto add_own = [&](const char* name, const char* help, const auto& grammar, auto& value) {
    return add(command, Flag<std::decay_t<decltype(*value)>>{name, help, grammar}, value)->group(kGroup);
  };
  add_own("--time", "simulated time after which no step begins, as in 60s", positive_time(), flags.time);
  add(command, shared.target_loss, flags.target_loss)->group(kGroup);
  add(command, shared.target_accuracy, flags.target_accuracy)->group(kGroup);
  command.add_flag("--stop-at-target", flags.stop_at_target, "ends the run when the target is reached")
      ->group(kGroup);
  add_own("--eval-steps", "steps of each worker between two evaluations of the loss",
          whole_number(1, kMostSteps), flags.eval_steps)
      ->default_str("1");
  refuse_eval_every(command);
  add(command, shared.seed, flags.seed)->group(kGroup)->default_str("1");
  add(command, shared.seeds, flags.seeds)->group(kGroup);
  add(command, shared.out, flags.out)->group(kGroup);
  add(command, shared.record, flags.record)->group(kGroup)->default_str("full");
  add(command, shared.force, flags.force)->group(kGroup);
  add(command, shared.json, flags.json)->group(kGroup);
}

}  // namespace

void add_simulate_flags(CLI::App& command, SimulateFlags& flags) {
  command.allow_extras();
  add(command, shared_flags().strategy, flags.strategy)->capture_default_str();
  add_cluster_flags(command, flags);
  add_learning_flags(command, flags);
  add_optimizer_flags(command, flags.optimizer);
  add_run_flags(command, flags);
}

}  // namespace starling::cli
