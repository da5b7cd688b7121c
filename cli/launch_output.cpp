#include "cli/launch_output.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/common/shared_flags.h"
#include "starling/core/error.h"
#include "starling/core/version.h"
#include "starling/record/run_folder.h"
#include "starling/strategy/registry.h"

namespace starling::cli {

namespace fs = std::filesystem;

void add_output_flags(CLI::App& command, LaunchOutputFlags& flags) {
  constexpr const char* kGroup = "Run of a LibTorch program (docs/runs.md)";
  const SharedFlags& shared = shared_flags();
  add(command, shared.out, flags.out)->group(kGroup);
  add(command, shared.record, flags.record)->group(kGroup)->default_str("full");
  add(command, shared.force, flags.force)->group(kGroup);
  add(command, shared.checkpoint_every, flags.checkpoint_every)->group(kGroup);
  add(command, shared.resume, flags.resume)->group(kGroup);
  add(command, shared.steps, flags.steps)->group(kGroup);
  add(command, shared.max_seconds, flags.max_seconds)->group(kGroup);
}

join::OutputOptions plan_output(const LaunchOutputFlags& flags) {
  join::OutputOptions output;
  output.out = flags.out ? *flags.out : flags.resume.value_or("");
  output.resume = flags.resume.value_or("");
  output.record = flags.record.text();
  output.checkpoint_every = flags.checkpoint_every.value_or(0);
  output.steps = flags.steps.optional();
  if (flags.max_seconds)
    output.max_time = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*flags.max_seconds));
  output.progress = !output.out.empty();
  if (output.checkpoint_every > 0 && output.out.empty())
    throw InvalidArgument("--checkpoint-every needs --out, where the checkpoints go");
  if (flags.record && output.out.empty())
    throw InvalidArgument("--record needs --out, where the record goes");
  if (flags.force && !flags.out) throw InvalidArgument("--force needs --out, whose files it replaces");
  const fs::path latest = fs::path(output.resume) / "checkpoints" / "latest.json";
  if (flags.resume && !fs::exists(latest))
    throw InvalidArgument(
        concat("--resume: ", latest.string(), " cannot be read; no checkpoint was completed"));
  return output;
}

void open_run_folder(const launch::LaunchPlan& plan, bool force, const std::vector<std::string>& words) {
  if (plan.output.out.empty()) return;
  const strategy::StrategyEntry& entry = strategy::find_strategy(plan.strategy);
  nlohmann::ordered_json json;
  json["version"] = version();
  json["command"] = "launch";
  json["flags"] = words;
  json["strategy"] = plan.strategy;
  json["options"] = strategy::Options::parse(entry.options, entry.name, plan.options).values();
  json["workers"] = plan.workers;
  json["program"] = plan.command;
  record::RunFolder(plan.output.out, force).write("run.json", json.dump(2) + "\n");
}

}  // namespace starling::cli
