#include "starling/session/standing.h"

#include <cstdlib>
#include <optional>
#include <set>

#include "starling/core/error.h"
#include "starling/session/meeting_point.h"
#include "starling/session/rendezvous_wire.h"
#include "starling/strategy/registry.h"
#include "starling/transport/shm/layout.h"

namespace starling::session {

namespace {

constexpr const char* kRank = "STARLING_RANK";
constexpr const char* kWorkers = "STARLING_WORKERS";
constexpr const char* kRanks = "STARLING_RANKS";
constexpr const char* kArena = "STARLING_ARENA";
constexpr const char* kRendezvous = "STARLING_RENDEZVOUS";
constexpr const char* kToken = "STARLING_TOKEN";
constexpr const char* kTransport = "STARLING_TRANSPORT";
constexpr const char* kStrategy = "STARLING_STRATEGY";
constexpr const char* kOptions = "STARLING_OPTIONS";
constexpr const char* kLink = "STARLING_LINK";

std::optional<std::string> variable(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr) return {};
  return text;
}

// How the process finds the others: by the memory of a launcher on this host, or by a rendezvous.
void read_way(Standing& standing) {
  const auto arena = variable(kArena), rendezvous = variable(kRendezvous), token = variable(kToken);
  if (arena && rendezvous) {
    throw InvalidArgument(concat(kArena, " and ", kRendezvous,
                                 " are set; the first is for one host, the second "
                                 "for several"));
  }
  if (arena) {
    if (arena->empty()) throw InvalidArgument(concat(kArena, " is empty; a launcher sets it"));
    standing.arena = *arena;
    return;
  }
  if (!token || token->empty())
    throw InvalidArgument(
        concat(kRendezvous, " is set and ", kToken, " is not; all processes need the same"));
  parse_meeting_point(*rendezvous, kRendezvous);
  standing.rendezvous = *rendezvous;
  standing.token = *token;
  standing.transport = variable(kTransport).value_or("auto");
  const std::set<std::string> allowed{"auto", "ucx", "shm"};
  if (allowed.count(standing.transport) == 0)
    throw InvalidArgument(concat(kTransport, " '", standing.transport, "'; allowed: auto, ucx, shm"));
}

void read_place(Standing& standing) {
  const std::pair<const char*, bool> all[] = {
      {kRank, variable(kRank).has_value()},
      {kWorkers, variable(kWorkers).has_value()},
      {kRanks, variable(kRanks).has_value()},
      {variable(kRendezvous) ? kRendezvous : kArena, variable(kArena) || variable(kRendezvous)}};
  const char* set = nullptr;
  const char* missing = nullptr;
  for (const auto& [name, value] : all) (value ? set : missing) = name;
  if (set == nullptr) return;
  if (missing != nullptr) {
    throw InvalidArgument(concat(set, " is set and ", missing, " is not; a launcher sets ", kRank, ", ",
                                 kWorkers, ", ", kRanks, " and ", kArena, " or ", kRendezvous));
  }
  read_way(standing);
  const int most = standing.arena.empty() ? kMostMeetingRanks : transport::shm::kMaxRanks;
  standing.ranks = static_cast<int>(parse_integer(*variable(kRanks), kRanks, 1, most));
  standing.workers = static_cast<int>(parse_integer(*variable(kWorkers), kWorkers, 1, standing.ranks));
  standing.rank = static_cast<Rank>(parse_integer(*variable(kRank), kRank, 0, standing.ranks - 1));
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
  std::vector<std::pair<std::string, std::string>> variables{{kRank, std::to_string(standing.rank)},
                                                             {kWorkers, std::to_string(standing.workers)},
                                                             {kRanks, std::to_string(standing.ranks)},
                                                             {kStrategy, standing.strategy},
                                                             {kOptions, join(options, ",")}};
  if (standing.rendezvous.empty()) {
    variables.emplace_back(kArena, standing.arena);
  } else {
    variables.emplace_back(kRendezvous, standing.rendezvous);
    variables.emplace_back(kToken, standing.token);
    variables.emplace_back(kTransport, standing.transport);
  }
  if (standing.link) variables.emplace_back(kLink, text_of(*standing.link));
  return variables;
}

}  // namespace starling::session
