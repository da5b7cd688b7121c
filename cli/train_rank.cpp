#include "cli/train_rank.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "starling/core/error.h"
#include "starling/session/standing.h"

namespace starling::cli {
namespace {

constexpr const char* kStrategy = "STARLING_STRATEGY";
constexpr const char* kOptions = "STARLING_OPTIONS";

// The strategy that the launcher names, as flags.
std::vector<std::string> named_by_launcher(const session::Variables& environment) {
  std::vector<std::string> words;
  if (const auto strategy = session::value_in(environment, kStrategy)) words = {"--strategy", *strategy};
  for (const std::string& option : split(session::value_in(environment, kOptions).value_or(""), ','))
    words.push_back(concat("--", option));
  return words;
}

void take_strategy(TrainText& text, const session::Variables& environment, TrainRank& rank) {
  rank.words = named_by_launcher(environment);
  if (const auto strategy = session::value_in(environment, kStrategy)) text.strategy = *strategy;
  for (const std::string& word : rank.words) {
    if (word.find('=') != std::string::npos) text.strategy_flags.push_back(word);
  }
}

void take_workers(TrainText& text, int workers, const std::string& started_by, TrainRank& rank) {
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

std::optional<TrainRank> rank_for(TrainText& text, bool strategy_named,
                                  const std::vector<std::string>& own_flags,
                                  const session::Variables& environment) {
  session::Variables variables = environment;
  variables.erase(kStrategy);
  variables.erase(kOptions);
  const session::Standing standing = session::read_standing(variables);
  if (standing.ranks == 1) return {};
  if (text.link) {
    throw InvalidArgument(concat("--link: '", *text.link,
                                 "'; allowed where starling train starts the workers itself, and these were "
                                 "started by ",
                                 standing.started_by));
  }
  TrainRank rank{.rank = standing.rank, .words = {}, .variables = {}};
  if (!strategy_named) take_strategy(text, environment, rank);
  const strategy::OptionTexts options = strategy_options(text, own_flags);
  const int workers = session::training_ranks(text.strategy, options, standing.ranks);
  take_workers(text, workers, standing.started_by, rank);
  std::vector<std::string> pairs;
  for (const auto& [name, value] : options) pairs.push_back(concat(name, "=", value));
  rank.variables = {{kStrategy, text.strategy}, {kOptions, join(pairs, ",")}};
  if (environment.count("STARLING_WORKERS") > 0)
    rank.variables.emplace_back("STARLING_WORKERS", std::to_string(workers));
  text.launched = true;
  return rank;
}

void become_trainer(const TrainRank& rank, const std::string& program,
                    const std::vector<std::string>& words) {
  std::vector<std::string> all{program, "--launched"};
  all.insert(all.end(), words.begin(), words.end());
  all.insert(all.end(), rank.words.begin(), rank.words.end());
  std::vector<char*> pointers;
  pointers.reserve(all.size() + 1);
  for (std::string& word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  for (const auto& [name, value] : rank.variables) setenv(name.c_str(), value.c_str(), 1);
  std::fflush(nullptr);
  execv(program.c_str(), pointers.data());
  throw Error(concat("train: cannot start ", program, ": ", std::strerror(errno)));
}

}  // namespace starling::cli
