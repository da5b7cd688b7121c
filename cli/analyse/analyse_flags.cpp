#include "cli/analyse/analyse_plan.h"
#include "cli/common/shared_flags.h"
#include "starling/core/text.h"

namespace starling::cli {

namespace {

constexpr long long kMostOf = 1'000'000;  // the plan knows the real limits

// 0 is allowed.
Grammar<Duration> any_time() {
  return {"TIME", [](const std::string& text, std::string_view flag) { return parse_duration(text, flag); }};
}

void add_worker_flags_of_analysis(CLI::App& command, AnalyseFlags& flags) {
  const SharedFlags& shared = shared_flags();
  constexpr const char* kGroup = "Workers (docs/cluster.md)";
  add(command, shared.workers, flags.workers)->group(kGroup)->default_str("16");
  add(command, shared.jitter, flags.cluster.jitter)->group(kGroup);
  add(command, shared.jitter_span, flags.cluster.jitter_span)->group(kGroup)->default_str("step");
  add(command, shared.slow, flags.cluster.slow)->group(kGroup);
  add(command, shared.step_time, flags.step_time)->group(kGroup)->default_str("1s");
  add(command, Flag<Duration>{"--comm", "time of an exchange that all wait for", any_time()}, flags.comm)
      ->group(kGroup)
      ->default_str("0s");
  add(command, shared.batch, flags.batch)->group(kGroup)->default_str("32 for each piece");
}

void add_rule_flags(CLI::App& command, AnalyseFlags& flags) {
  constexpr const char* kGroup = "Strategies (docs/analyse.md)";
  const auto add_number = [&](const char* name, const char* help, long long most, auto& value) {
    return add(command, Flag<std::uint64_t>{name, help, whole_number(1, most)}, value)->group(kGroup);
  };
  add_number("--backup", "gradients per version that are not waited for", kMostOf, flags.backup)
      ->default_str("an eighth of the workers");
  add_number("--period", "local steps between two averages", 1000, flags.period)->default_str("10");
  add_number("--staleness", "steps a worker may be ahead of the slowest", 100, flags.staleness)
      ->default_str("3");
  add_number("--pieces", "pieces of a batch", 256, flags.pieces)->default_str("8");
  add_number("--quorum", "workers whose end ends a non-blocking step", kMostOf, flags.quorum)
      ->default_str("half of the workers");
  add(command, Flag<Duration>{"--deadline", "time after which a non-blocking step ends", positive_time()},
      flags.deadline)
      ->group(kGroup)
      ->default_str("1.1 times --step-time");
}

}  // namespace

void add_analyse_flags(CLI::App& command, AnalyseFlags& flags) {
  const SharedFlags& shared = shared_flags();
  add_worker_flags_of_analysis(command, flags);
  add_rule_flags(command, flags);
  constexpr const char* kGroup = "Simulation and files";
  add(command, shared.steps, flags.steps)->group(kGroup)->default_str("100, after those it takes to settle");
  add(command, shared.seeds, flags.seeds)->group(kGroup)->default_str("1..20");
  add(command, Switch{"--no-simulation", "formulas only"}, flags.without_simulation)->group(kGroup);
  add(command, Flag<std::string>{"--json", "also writes the numbers into this file", any_text()}, flags.json)
      ->group(kGroup);
  add(command, shared.svg, flags.svg)->group(kGroup);
}

}  // namespace starling::cli
