#include "cli/simulate.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/machine.h"
#include "cli/run_config.h"
#include "cli/simulate_plan.h"
#include "cli/simulate_seeds.h"
#include "starling/core/cpu.h"
#include "starling/core/error.h"
#include "starling/record/events.h"
#include "starling/record/folder.h"
#include "starling/record/report.h"
#include "starling/record/summary.h"
#include "starling/record/trace.h"

namespace starling::cli {
namespace {

using WallClock = std::chrono::steady_clock;

double seconds_since(WallClock::time_point begin) {
  return std::chrono::duration<double>(WallClock::now() - begin).count();
}

// A line that is written over and over, on a terminal only.
class Progress final : public sim::Observer {
 public:
  explicit Progress(bool shown) : shown_(shown) {}
  ~Progress() override {
    if (drawn_) std::fputs("\r\033[K", stderr);
  }
  void evaluated(const record::LossPoint& point) override { loss_ = point.loss; }
  void step_begins(Rank, std::uint64_t step, Time now, Models) override {
    if (!shown_ || (++calls_ % 256) != 0 || seconds_since(last_) < 0.1) return;
    last_ = WallClock::now();
    drawn_ = true;
    fmt::print(stderr, "\r\033[Kstep {}, {} simulated, loss {:.4g}", step,
               format_duration(now.time_since_epoch()), loss_);
    std::fflush(stderr);
  }

 private:
  bool shown_;
  bool drawn_ = false;
  std::uint64_t calls_ = 0;
  double loss_ = 0;
  WallClock::time_point last_ = WallClock::now();
};

// The first worker that ended otherwise than it should have, and was not meant to.
void check_end(const SimulatePlan& plan, const record::Run& run) {
  for (const record::RankRecord& record : run.ranks) {
    const bool planned =
        std::any_of(plan.simulation.cluster.faults.begin(), plan.simulation.cluster.faults.end(),
                    [&](const sim::Fault& fault) {
                      return fault.kind == sim::Fault::Kind::kKill && fault.subject == record.rank;
                    });
    if (record.ended.empty() || planned) continue;
    throw Error(
        concat("worker ", record.rank, " ended after ", record.journal.steps, " steps: ", record.ended));
  }
}

void run_one(const SimulatePlan& plan, const std::string& command) {
  const WallClock::time_point begin = WallClock::now();
  std::optional<record::Folder> folder;
  if (!plan.out.empty()) {
    folder.emplace(plan.out, plan.force);
    folder->write("run.json", config_json(plan, command));
  }
  sim::Simulation simulation = plan.simulation;
  record::Run run;
  {
    Progress progress(isatty(STDERR_FILENO) == 1 && !plan.json);
    simulation.observer = &progress;
    run = sim::simulate(simulation);
  }
  const record::Waits waits = record::find_waits(run);
  const std::string summary = record::summary_json(run, waits, seconds_since(begin));
  if (folder) {
    folder->write("events.jsonl", [&](std::ostream& out) { record::write_events(out, run); });
    folder->write("trace.json", [&](std::ostream& out) { record::write_trace(out, run, waits); });
    folder->write("summary.json", summary);
  }
  fmt::print("{}", plan.json ? summary : record::report_text(run, waits));
  check_end(plan, run);
}

void run_many(const SimulatePlan& plan, const std::string& command) {
  std::optional<record::Folder> folder;
  if (!plan.out.empty()) {
    folder.emplace(plan.out, plan.force);
    folder->write("run.json", config_json(plan, command));
  }
  const SeedStudy study = study_seeds(plan, static_cast<unsigned>(usable_cores()));
  if (folder) folder->write("summary.json", study_json(plan, study).dump(2) + "\n");
  fmt::print("{}", plan.json ? study_json(plan, study).dump(2) + "\n" : study_text(study));
}

void add_cluster_flags(CLI::App& command, sim::ClusterFlags& flags) {
  constexpr const char* kGroup = "Cluster (docs/cluster.md)";
  command.add_option("--cluster", flags.file, "TOML file; the flags below change what it says")
      ->group(kGroup);
  command.add_option("--workers", flags.workers, "how many (4)")->group(kGroup);
  command.add_option("--hosts", flags.hosts, "spread the workers over so many (one each)")->group(kGroup);
  command
      .add_option("--network", flags.network,
                  "between hosts: 1gbe, 10gbe, 25gbe, 100gib, nvlink, or 40gbit/5us")
      ->group(kGroup);
  command.add_option("--inside", flags.inside, "the same inside a host (shm)")->group(kGroup);
  command
      .add_option("--jitter", flags.jitter,
                  "none, normal:S, lognormal:S, exponential, pareto:A, bernoulli:P:X")
      ->group(kGroup);
  command.add_option("--slow", flags.slow, "WORKER:FACTOR[@FROM-TO], as in 0:4 or 0:4@10s-20s")
      ->group(kGroup);
  command.add_option("--pause", flags.pause, "WORKER@FROM-TO: stands still")->group(kGroup);
  command.add_option("--link-slow", flags.link, "HOST:FACTOR[@FROM-TO]: its bandwidth is divided")
      ->group(kGroup);
  command.add_option("--kill", flags.kill, "WORKER@TIME: dies")->group(kGroup);
  command.add_option("--join", flags.join, "WORKER@TIME: is not there before")->group(kGroup);
}

void add_training_flags(CLI::App& command, SimulateText& text) {
  constexpr const char* kGroup = "Training (docs/workloads.md)";
  command.add_option("--workload", text.workload, "quadratic, logistic, mlp, or replay:MODEL")->group(kGroup);
  command.add_option("--params", text.params, "parameters of quadratic and logistic (100)")->group(kGroup);
  command.add_option("--batch", text.batch, "samples of a worker's step (the workload's own)")->group(kGroup);
  command.add_option("--noise", text.noise, "of a sample's gradient, for quadratic (1)")->group(kGroup);
  command.add_option("--data-seed", text.data_seed, "of generated data (1)")->group(kGroup);
  command.add_option("--step-time", text.step_time, "of a worker of speed 1 (100ms); replays have their own")
      ->group(kGroup);
  command.add_option("--optimizer", text.optimizer, "sgd, adamw (sgd)")->group(kGroup);
  command.add_option("--lr", text.lr, "learning rate (0.1)")->group(kGroup);
  command.add_option("--momentum", text.momentum, "(0)")->group(kGroup);
  command.add_flag("--nesterov", text.nesterov, "with --momentum")->group(kGroup);
  command.add_option("--weight-decay", text.weight_decay, "(0)")->group(kGroup);
}

void add_run_flags(CLI::App& command, SimulateText& text) {
  constexpr const char* kGroup = "Run (docs/runs.md)";
  command.add_option("--steps", text.steps, "of each worker (100, or as many as fit into --time)")
      ->group(kGroup);
  command.add_option("--time", text.time, "simulated time after which no step begins, as in 60s")
      ->group(kGroup);
  command.add_option("--target-loss", text.target_loss, "note when the mean model's loss gets there")
      ->group(kGroup);
  command.add_option("--target-accuracy", text.target_accuracy, "the same for accuracy, 0 to 1")
      ->group(kGroup);
  command.add_flag("--stop-at-target", text.stop_at_target, "and end the run there")->group(kGroup);
  command
      .add_option("--eval-every", text.eval_every, "steps of each worker between two looks at the loss (1)")
      ->group(kGroup);
  command.add_option("--seed", text.seed, "of everything random (1)")->group(kGroup);
  command.add_option("--seeds", text.seeds, "FIRST..LAST: run them all, print mean, spread and quantiles")
      ->group(kGroup);
  command.add_option("--out", text.out, "folder for run.json, summary.json, events.jsonl, trace.json")
      ->group(kGroup);
  command.add_flag("--force", text.force, "replace the files of an earlier run in --out")->group(kGroup);
  command.add_flag("--json", text.json, "print summary.json instead of the table")->group(kGroup);
}

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) names.push_back(option->get_name());
  return names;
}

}  // namespace

void add_simulate(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("simulate", "Run a strategy on a simulated cluster");
  command->allow_extras();
  const auto text = std::make_shared<SimulateText>();
  command->add_option("--strategy", text->strategy,
                      "allreduce, ... (`starling strategies` lists them); its options are flags, too");
  add_cluster_flags(*command, text->cluster);
  add_training_flags(*command, *text);
  add_run_flags(*command, *text);
  command->callback([command, text] {
    text->strategy_flags = command->remaining();
    const SimulatePlan plan = plan_simulation(*text, flags_of(*command));
    const std::string words = command->config_to_str();
    plan.seeds.size() == 1 && text->seeds.empty() ? run_one(plan, words) : run_many(plan, words);
  });
}

}  // namespace starling::cli
