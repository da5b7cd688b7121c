#include "cli/simulate/simulate.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>

#include "cli/common/machine.h"
#include "cli/common/progress_line.h"
#include "cli/common/run_json.h"
#include "cli/common/strategy_flags.h"
#include "cli/simulate/simulate_plan.h"
#include "cli/simulate/simulate_seeds.h"
#include "starling/core/cpu.h"
#include "starling/core/error.h"
#include "starling/record/report.h"
#include "starling/record/run_files.h"
#include "starling/record/run_folder.h"
#include "starling/record/summary.h"

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
  std::vector<std::string> failures;
  if (folder) failures = record::write_run_files(*folder, run, waits, summary);
  fmt::print("{}", plan.json ? summary : record::report_text(run, waits));
  if (!failures.empty()) throw Error(join_texts(failures));
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

}  // namespace

void add_simulate(CLI::App& app, std::vector<std::string> words) {
  CLI::App* const command = app.add_subcommand("simulate", "Run a strategy on a simulated cluster");
  const auto flags = std::make_shared<SimulateFlags>();
  add_simulate_flags(*command, *flags);
  command->callback([command, flags, words = std::move(words)] {
    flags->strategy_flags = command->remaining();
    const SimulatePlan plan = plan_simulation(*flags, flags_of(*command), available_memory());
    plan.study ? run_many(plan, words) : run_one(plan, words);
  });
}

}  // namespace starling::cli
