#include "cli/compare.h"

#include <fmt/format.h>

#include <memory>

#include "cli/accuracy_plot.h"
#include "cli/common/shared_flags.h"
#include "starling/core/error.h"
#include "starling/core/text.h"
#include "starling/record/atomic_file.h"

namespace starling::cli {
namespace {

struct CompareText {
  std::vector<std::string> folders;
  std::optional<std::string> accuracy;
  std::optional<std::string> svg;
};

// Runs of the same strategy are distinguished by their folders.
std::vector<RunCurve> read_all(const std::vector<std::string>& folders) {
  std::vector<RunCurve> runs;
  runs.reserve(folders.size());
  for (const std::string& folder : folders) runs.push_back(read_curve(folder));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (runs[i].name != runs[j].name) continue;
      runs[j].name = std::filesystem::path(folders[j]).lexically_normal().string();
      runs[i].name = std::filesystem::path(folders[i]).lexically_normal().string();
    }
  }
  return runs;
}

void print(const std::vector<RunCurve>& runs, double accuracy) {
  const std::optional<double> first = seconds_to(runs.front(), accuracy);
  fmt::print("{:<24} {:>12} {:>14} {:>10} {:>12}\n", "run", "accuracy", fmt::format("s to {:.3g}", accuracy),
             "speed-up", "samples/s");
  for (const RunCurve& run : runs) {
    const std::optional<double> time = seconds_to(run, accuracy);
    fmt::print("{:<24} {:>12.4f} {:>14} {:>10} {:>12.0f}\n", run.name, run.points.back().accuracy,
               time ? fmt::format("{:.1f}", *time) : "not reached",
               time && first ? fmt::format("{:.2f}", *first / *time) : "-", run.samples_per_second);
  }
}

void compare(const CompareText& text) {
  const std::vector<RunCurve> runs = read_all(text.folders);
  const double accuracy =
      text.accuracy ? parse_number(*text.accuracy, "--accuracy", 0, 1) : common_accuracy(runs);
  print(runs, accuracy);
  if (!text.svg) return;
  record::AtomicFile file(*text.svg);
  file.stream() << draw(runs, accuracy);
  file.publish();
  fmt::print("picture in {}\n", *text.svg);
}

}  // namespace

void add_compare(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("compare", "Compare how fast training runs reach an accuracy");
  const auto text = std::make_shared<CompareText>();
  command
      ->add_option("folders", text->folders,
                   "folders of runs made with `starling train --out`; the first is the reference")
      ->required();
  command->add_option("--accuracy", text->accuracy,
                      "accuracy to compare at, 0 to 1 (the highest that all runs reach)");
  add(*command, shared_flags().svg, text->svg);
  command->callback([text] { compare(*text); });
}

}  // namespace starling::cli
