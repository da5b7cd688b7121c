#include "cli/train/train_launched.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cli/train/train_plan_json.h"
#include "starling/core/error.h"
#include "starling/join/run_environment.h"

namespace starling::cli {
namespace {

constexpr const char* kStrategy = "STARLING_STRATEGY";
constexpr const char* kOptions = "STARLING_OPTIONS";

// The strategy that the launcher names, with its options as flags.
void take_strategy(TrainFlags& flags, const join::EnvironmentVariables& environment) {
  if (const auto strategy = join::value_in(environment, kStrategy)) flags.strategy = *strategy;
  for (const std::string& option : split(join::value_in(environment, kOptions).value_or(""), ','))
    flags.strategy_flags.push_back(concat("--", option));
}

void take_workers(TrainFlags& flags, int workers, const std::string& started_by) {
  if (flags.workers && *flags.workers != workers) {
    throw InvalidArgument(concat("--workers: '", flags.workers.text(), "'; ", workers,
                                 workers == 1 ? " rank trains" : " ranks train", " of those started by ",
                                 started_by));
  }
  flags.workers = {workers, std::to_string(workers)};
}

}  // namespace

std::optional<TrainLaunched> rank_for(TrainFlags& flags, bool strategy_named,
                                      const std::vector<std::string>& own_flags,
                                      const join::EnvironmentVariables& given) {
  join::EnvironmentVariables variables = given;
  variables.erase(kStrategy);
  variables.erase(kOptions);
  const join::RunEnvironment environment = join::read_run_environment(variables);
  if (environment.ranks == 1) return {};
  if (flags.link) {
    throw InvalidArgument(concat("--link: '", flags.link.text(),
                                 "'; allowed where starling train starts the workers itself, and these were "
                                 "started by ",
                                 environment.started_by));
  }
  TrainLaunched rank{.rank = environment.rank, .variables = {}};
  if (!strategy_named) take_strategy(flags, given);
  const strategy::OptionTexts options = strategy_options(flags, own_flags);
  const int workers = join::training_ranks(flags.strategy, options, environment.ranks);
  take_workers(flags, workers, environment.started_by);
  std::vector<std::string> pairs;
  for (const auto& [name, value] : options) pairs.push_back(concat(name, "=", value));
  rank.variables = {{kStrategy, flags.strategy}, {kOptions, join_texts(pairs, ",")}};
  if (flags.on_loss) rank.variables.emplace_back("STARLING_ON_LOSS", flags.on_loss.text());
  if (given.count("STARLING_WORKERS") > 0)
    rank.variables.emplace_back("STARLING_WORKERS", std::to_string(workers));
  flags.launched = true;
  return rank;
}

void become_trainer(const TrainLaunched& rank, const std::string& program, const TrainPlan& plan) {
  const std::string descriptor = std::to_string(open_plan(plan));
  for (const auto& [name, value] : rank.variables) setenv(name.c_str(), value.c_str(), 1);
  std::fflush(nullptr);
  execl(program.c_str(), program.c_str(), "--plan", descriptor.c_str(), nullptr);
  throw Error(concat("train: cannot start ", program, ": ", std::strerror(errno)));
}

}  // namespace starling::cli
