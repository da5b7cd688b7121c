#include "cli/train/train_launched.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "starling/core/child_process.h"
#include "starling/core/error.h"
#include "starling/join/run_environment.h"

namespace starling::cli {
namespace {

constexpr const char* kStrategy = "STARLING_STRATEGY";
constexpr const char* kOptions = "STARLING_OPTIONS";

// The strategy that the launcher names, as flags.
std::vector<std::string> named_by_launcher(const join::EnvironmentVariables& environment) {
  std::vector<std::string> words;
  if (const auto strategy = join::value_in(environment, kStrategy)) words = {"--strategy", *strategy};
  for (const std::string& option : split(join::value_in(environment, kOptions).value_or(""), ','))
    words.push_back(concat("--", option));
  return words;
}

void take_strategy(TrainText& text, const join::EnvironmentVariables& environment, TrainLaunched& rank) {
  rank.words = named_by_launcher(environment);
  if (const auto strategy = join::value_in(environment, kStrategy)) text.strategy = *strategy;
  for (const std::string& word : rank.words) {
    if (word.find('=') != std::string::npos) text.strategy_flags.push_back(word);
  }
}

void take_workers(TrainText& text, int workers, const std::string& started_by, TrainLaunched& rank) {
  const std::string known = std::to_string(workers);
  if (text.cluster.workers && *text.cluster.workers != known) {
    throw InvalidArgument(concat("--workers: '", *text.cluster.workers, "'; ", known,
                                 workers == 1 ? " rank trains" : " ranks train", " of those started by ",
                                 started_by));
  }
  if (!text.cluster.workers) rank.words.insert(rank.words.end(), {"--workers", known});
  text.cluster.workers = known;
}

}  // namespace

std::optional<TrainLaunched> rank_for(TrainText& text, bool strategy_named,
                                      const std::vector<std::string>& own_flags,
                                      const join::EnvironmentVariables& given) {
  join::EnvironmentVariables variables = given;
  variables.erase(kStrategy);
  variables.erase(kOptions);
  const join::RunEnvironment environment = join::read_run_environment(variables);
  if (environment.ranks == 1) return {};
  if (text.link) {
    throw InvalidArgument(concat("--link: '", *text.link,
                                 "'; allowed where starling train starts the workers itself, and these were "
                                 "started by ",
                                 environment.started_by));
  }
  TrainLaunched rank{.rank = environment.rank, .words = {}, .variables = {}};
  if (!strategy_named) take_strategy(text, given, rank);
  const strategy::OptionTexts options = strategy_options(text, own_flags);
  const int workers = join::training_ranks(text.strategy, options, environment.ranks);
  take_workers(text, workers, environment.started_by, rank);
  std::vector<std::string> pairs;
  for (const auto& [name, value] : options) pairs.push_back(concat(name, "=", value));
  rank.variables = {{kStrategy, text.strategy}, {kOptions, join_texts(pairs, ",")}};
  if (given.count("STARLING_WORKERS") > 0)
    rank.variables.emplace_back("STARLING_WORKERS", std::to_string(workers));
  text.launched = true;
  return rank;
}

void become_trainer(const TrainLaunched& rank, const std::string& program,
                    const std::vector<std::string>& words) {
  std::vector<std::string> all{program, "--launched"};
  all.insert(all.end(), words.begin(), words.end());
  all.insert(all.end(), rank.words.begin(), rank.words.end());
  const std::vector<char*> pointers = argv_of(all);
  for (const auto& [name, value] : rank.variables) setenv(name.c_str(), value.c_str(), 1);
  std::fflush(nullptr);
  execv(program.c_str(), pointers.data());
  throw Error(concat("train: cannot start ", program, ": ", std::strerror(errno)));
}

}  // namespace starling::cli
