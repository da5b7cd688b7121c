#include "starling/session/standing.h"

#include <cstdlib>
#include <optional>

#include "starling/core/error.h"
#include "starling/strategy/registry.h"
#include "starling/transport/shm/layout.h"

namespace starling::session {

namespace {

constexpr const char* kRank = "STARLING_RANK";
constexpr const char* kWorkers = "STARLING_WORKERS";
constexpr const char* kRanks = "STARLING_RANKS";
constexpr const char* kArena = "STARLING_ARENA";
constexpr const char* kStrategy = "STARLING_STRATEGY";
constexpr const char* kOptions = "STARLING_OPTIONS";
constexpr const char* kLink = "STARLING_LINK";

std::optional<std::string> variable(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return {};
  return text;
}

void read_place(Standing& standing) {
  const std::pair<const char*, std::optional<std::string>> all[] = {{kRank, variable(kRank)},
                                                                    {kWorkers, variable(kWorkers)},
                                                                    {kRanks, variable(kRanks)},
                                                                    {kArena, variable(kArena)}};
  const char* set = nullptr;
  const char* missing = nullptr;
  for (const auto& [name, value] : all) (value ? set : missing) = name;
  if (set == nullptr) return;
  if (missing != nullptr) {
    throw InvalidArgument(concat(set, " is set and ", missing, " is not; a launcher sets ", kRank, ", ",
                                 kWorkers, ", ", kRanks, " and ", kArena));
  }
  standing.ranks = static_cast<int>(parse_integer(*all[2].second, kRanks, 1, transport::shm::kMaxRanks));
  standing.workers = static_cast<int>(parse_integer(*all[1].second, kWorkers, 1, standing.ranks));
  standing.rank = static_cast<Rank>(parse_integer(*all[0].second, kRank, 0, standing.ranks - 1));
  standing.arena = *all[3].second;
  if (standing.arena.empty()) throw InvalidArgument(concat(kArena, " is empty; a launcher sets it"));
}

}  // namespace

Standing read_standing() {
  Standing standing;
  read_place(standing);
  if (const auto name = variable(kStrategy)) standing.strategy = *name;
  if (const auto link = variable(kLink)) standing.link = transport::parse_link(*link, kLink);
  for (const std::string& word : split(variable(kOptions).value_or(""), ',')) {
    const std::size_t cut = word.find('=');
    if (cut == std::string::npos || cut == 0) {
      throw InvalidArgument(concat(kOptions, ": '", word, "'; allowed: NAME=VALUE,NAME=VALUE,..."));
    }
    standing.options[word.substr(0, cut)] = word.substr(cut + 1);
  }
  const strategy::Row& row = strategy::find_strategy(standing.strategy);
  strategy::Options::parse(row.options, row.name, standing.options);
  return standing;
}

std::vector<std::pair<std::string, std::string>> variables_of(const Standing& standing) {
  std::vector<std::string> options;
  for (const auto& [name, value] : standing.options) options.push_back(concat(name, "=", value));
  std::vector<std::pair<std::string, std::string>> variables{
      {kRank, std::to_string(standing.rank)},   {kWorkers, std::to_string(standing.workers)},
      {kRanks, std::to_string(standing.ranks)}, {kArena, standing.arena},
      {kStrategy, standing.strategy},           {kOptions, join(options, ",")}};
  if (standing.link) variables.emplace_back(kLink, text_of(*standing.link));
  return variables;
}

}  // namespace starling::session
