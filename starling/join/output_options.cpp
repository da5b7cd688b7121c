#include "starling/join/output_options.h"

#include <limits>

#include "starling/core/error.h"

namespace starling::join {

namespace {

constexpr const char* kOut = "STARLING_OUT";
constexpr const char* kCheckpointEvery = "STARLING_CHECKPOINT_EVERY";
constexpr const char* kResume = "STARLING_RESUME";
constexpr const char* kRecord = "STARLING_RECORD";
constexpr const char* kSteps = "STARLING_STEPS";
constexpr const char* kMaxSeconds = "STARLING_MAX_SECONDS";
constexpr const char* kProgress = "STARLING_PROGRESS";

std::uint64_t parse_steps(const std::string& text, const char* name) {
  return static_cast<std::uint64_t>(parse_integer(text, name, 1, std::numeric_limits<long long>::max()));
}

bool parse_switch(const std::string& text, const char* name) {
  if (text == "on") return true;
  if (text == "off") return false;
  throw InvalidArgument(concat(name, " '", text, "'; allowed: on, off"));
}

}  // namespace

OutputOptions read_output_options(const EnvironmentVariables& variables) {
  OutputOptions options;
  options.out = value_in(variables, kOut).value_or("");
  options.resume = value_in(variables, kResume).value_or("");
  options.record = value_in(variables, kRecord).value_or("");
  if (const auto text = value_in(variables, kCheckpointEvery))
    options.checkpoint_every = parse_steps(*text, kCheckpointEvery);
  if (const auto text = value_in(variables, kSteps)) options.steps = parse_steps(*text, kSteps);
  if (const auto text = value_in(variables, kMaxSeconds))
    options.max_time = parse_duration(*text, kMaxSeconds);
  if (const auto text = value_in(variables, kProgress)) options.progress = parse_switch(*text, kProgress);
  if (options.checkpoint_every > 0 && options.out.empty()) {
    throw InvalidArgument(concat(kCheckpointEvery, " is set and ", kOut, " is not; checkpoints go there"));
  }
  return options;
}

std::vector<std::pair<std::string, std::string>> variables_of(const OutputOptions& options) {
  std::vector<std::pair<std::string, std::string>> variables;
  if (!options.out.empty()) variables.emplace_back(kOut, options.out);
  if (options.checkpoint_every > 0)
    variables.emplace_back(kCheckpointEvery, std::to_string(options.checkpoint_every));
  if (!options.resume.empty()) variables.emplace_back(kResume, options.resume);
  if (!options.record.empty()) variables.emplace_back(kRecord, options.record);
  if (options.steps) variables.emplace_back(kSteps, std::to_string(*options.steps));
  if (options.max_time) variables.emplace_back(kMaxSeconds, concat(options.max_time->count(), "ns"));
  if (options.progress) variables.emplace_back(kProgress, "on");
  return variables;
}

}  // namespace starling::join
