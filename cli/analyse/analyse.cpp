#include "cli/analyse/analyse.h"

#include <fmt/format.h>

#include <memory>

#include "cli/analyse/analyse_picture.h"
#include "cli/analyse/analyse_table.h"
#include "cli/common/progress_line.h"
#include "starling/core/cpu.h"
#include "starling/record/atomic_file.h"

namespace starling::cli {

namespace {

void write_file(const std::string& path, const std::string& content) {
  record::AtomicFile file(path);
  file.stream() << content;
  file.publish();
}

std::vector<SimulatedTimes> simulate_all(const AnalysePlan& plan, const std::vector<AnalysisRow>& rows) {
  if (!plan.simulates) return {};
  ProgressLine line(true);
  return simulate_rows(plan, rows, static_cast<unsigned>(usable_cores()), [&](double share) {
    if (line.due()) line.show(fmt::format("{:.0f} % simulated", 100 * share));
  });
}

void analyse(const AnalysePlan& plan) {
  const std::vector<AnalysisRow> rows = analysis_rows(plan);
  const std::vector<SimulatedTimes> simulated = simulate_all(plan, rows);
  fmt::print("{}", analysis_text(plan, rows, simulated));
  if (plan.json) write_file(*plan.json, analysis_json(plan, rows, simulated).dump(2) + "\n");
  if (!plan.svg) return;
  write_file(*plan.svg, analysis_picture(plan, rows, simulated));
  fmt::print("picture in {}\n", *plan.svg);
}

}  // namespace

void add_analyse(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("analyse", "Compare formulas for times of steps with simulations");
  const auto flags = std::make_shared<AnalyseFlags>();
  add_analyse_flags(*command, *flags);
  command->callback([flags] { analyse(plan_analysis(*flags)); });
}

}  // namespace starling::cli
