#include "cli/simulate/simulate.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/common/flag_parsing.h"
#include "cli/common/machine.h"
#include "cli/common/progress_line.h"
#include "cli/common/run_json.h"
#include "cli/common/strategy_flags.h"
#include "cli/simulate/simulate_plan.h"
#include "cli/simulate/simulate_seeds.h"
#include "starling/core/cpu.h"
#include "starling/core/error.h"
#include "starling/record/events.h"
#include "starling/record/report.h"
#include "starling/record/run_folder.h"
#include "starling/record/summary.h"
#include "starling/record/trace.h"

namespace starling::cli {
namespace {

using WallClock = std::chrono::steady_clock;

double seconds_since(WallClock::time_point begin) {
  return std::chrono::duration<double>(WallClock::now() - begin).count();
}

class Watcher final : public sim::Observer {
 public:
  bool looks_at_models() const override { return false; }
  explicit Watcher(bool shown) : line_(shown) {}
  void evaluated(const record::LossPoint& point) override { loss_ = point.loss; }
  void step_begins(Rank, std::uint64_t step, Time now, Models) override {
    if (++calls_ % 256 != 0 || !line_.due()) return;
    const std::string loss = loss_ ? fmt::format(", loss {:.4g}", *loss_) : "";
    line_.show(fmt::format("step {}, {} simulated{}", step, format_duration(now.time_since_epoch()), loss));
  }

 private:
  ProgressLine line_;
  std::uint64_t calls_ = 0;
  std::optional<double> loss_;
};

using Words = std::vector<std::string>;

std::optional<record::RunFolder> open_folder(const SimulatePlan& plan, const Words& words) {
  if (!plan.out) return {};
  std::optional<record::RunFolder> folder(std::in_place, *plan.out, plan.force, least_bytes(plan));
  folder->write("run.json", config_json(plan, words));
  return folder;
}

void run_one(const SimulatePlan& plan, const Words& words) {
  const WallClock::time_point begin = WallClock::now();
  const std::optional<record::RunFolder> folder = open_folder(plan, words);
  sim::Simulation simulation = plan.simulation;
  record::RunRecord run;
  {
    Watcher watcher(!plan.json);
    simulation.observer = &watcher;
    run = sim::simulate(simulation);
  }
  const record::WaitAnalysis waits = record::analyse_waits(run);
  const std::string summary = record::summary_json(run, waits, seconds_since(begin));
  if (folder) {
    folder->write("events.jsonl", [&](std::ostream& out) { record::write_events(out, run); });
    folder->write("trace.json", [&](std::ostream& out) { record::write_trace(out, run, waits); });
    folder->write("summary.json", summary);
  }
  fmt::print("{}", plan.json ? summary : record::report_text(run, waits));
  if (const std::string why = unplanned_end(plan, run); !why.empty()) throw Error(why);
}

void run_many(const SimulatePlan& plan, const Words& words) {
  const std::optional<record::RunFolder> folder = open_folder(plan, words);
  SeedStudy study;
  {
    ProgressLine line(!plan.json);
    study = study_seeds(plan, static_cast<unsigned>(usable_cores()), [&](std::size_t done) {
      if (line.due()) line.show(fmt::format("{} of {} seeds", done, plan.seeds.size()));
    });
  }
  const std::string json = study_json(plan, study).dump(2) + "\n";
  if (folder) folder->write("summary.json", json);
  fmt::print("{}", plan.json ? json : study_text(study));
  if (!study.failure.empty()) throw Error(study.failure);
}

void add_cluster_flags(CLI::App& command, cluster::ClusterFlags& flags) {
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
  command.add_option("--jitter", flags.jitter, kJitterForms)->group(kGroup);
  const auto add_list = [&](const char* flag, std::vector<std::string>& values, const char* help) {
    add_repeated(command, flag, values, help, kGroup);
  };
  add_list("--slow", flags.slow, "WORKER:FACTOR[@FROM-TO], as in 0:4 or 0:4@10s-20s; may be repeated");
  add_list("--pause", flags.pause, "WORKER@FROM[-TO]: stands still; may be repeated");
  add_list("--link-slow", flags.link, "HOST:FACTOR[@FROM-TO]: its bandwidth is divided; may be repeated");
  add_list("--kill", flags.kill, "WORKER@TIME: dies; may be repeated");
  add_list("--join", flags.join, "WORKER@TIME: is not there before; may be repeated");
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
  command.add_option("--optimizer", text.optimizer, "sgd, adam, adamw (sgd)")->group(kGroup);
  command.add_option("--lr", text.lr, "learning rate (0.1)")->group(kGroup);
  command.add_option("--momentum", text.momentum, "(0)")->group(kGroup);
  command.add_flag("--nesterov", text.nesterov, "with --momentum")->group(kGroup);
  command.add_option("--weight-decay", text.weight_decay, "(0)")->group(kGroup);
  command.add_option("--clip-norm", text.clip_norm, "largest 2-norm of a gradient; 0: any (0)")
      ->group(kGroup);
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

}  // namespace

void add_simulate(CLI::App& app, std::vector<std::string> words) {
  CLI::App* const command = app.add_subcommand("simulate", "Run a strategy on a simulated cluster");
  command->allow_extras();
  const auto text = std::make_shared<SimulateText>();
  std::vector<std::string_view> names;
  for (const strategy::StrategyEntry& row : strategy::registry()) names.emplace_back(row.name);
  command->add_option("--strategy", text->strategy,
                      concat(join_texts(names), " (", names.front(),
                             "); its options are flags, too: `starling strategies NAME` shows them"));
  add_cluster_flags(*command, text->cluster);
  add_training_flags(*command, *text);
  add_run_flags(*command, *text);
  command->callback([command, text, words = std::move(words)] {
    text->strategy_flags = command->remaining();
    const SimulatePlan plan = plan_simulation(*text, flags_of(*command), available_memory());
    plan.study ? run_many(plan, words) : run_one(plan, words);
  });
}

}  // namespace starling::cli
