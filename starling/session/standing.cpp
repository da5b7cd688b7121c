#include "starling/session/standing.h"

#include <chrono>
#include <set>

#include "starling/core/error.h"
#include "starling/session/detected.h"
#include "starling/session/find_others.h"
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
constexpr const char* kSilence = "STARLING_SILENCE";
constexpr const char* kStrategy = "STARLING_STRATEGY";
constexpr const char* kOptions = "STARLING_OPTIONS";
constexpr const char* kLink = "STARLING_LINK";

// Five words are said within it, and a busy machine may keep one back for a while.
constexpr Duration kShortestSilence = std::chrono::milliseconds(100);
constexpr Duration kLongestSilence = std::chrono::hours(1);

// How the process finds the others: by the memory of a launcher on this host, or by a rendezvous.
void read_way(Standing& standing, const Variables& variables) {
  const auto arena = value_in(variables, kArena), rendezvous = value_in(variables, kRendezvous);
  const auto token = value_in(variables, kToken);
  if (arena && rendezvous) {
    throw InvalidArgument(concat(kArena, " and ", kRendezvous,
                                 " are set; the first is for one host, the second "
                                 "for several"));
  }
  if (standing.transport == "mpi") {
    throw InvalidArgument(concat(kTransport, " is mpi, and ", kRank,
                                 " is set; MPI needs ranks that mpirun or srun has started"));
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
}

void read_own_place(Standing& standing, const Variables& variables) {
  const auto has = [&](const char* name) { return variables.count(name) > 0; };
  const std::pair<const char*, bool> all[] = {
      {kRank, has(kRank)},
      {kWorkers, has(kWorkers)},
      {kRanks, has(kRanks)},
      {has(kRendezvous) ? kRendezvous : kArena, has(kArena) || has(kRendezvous)}};
  const char* set = nullptr;
  const char* missing = nullptr;
  for (const auto& [name, value] : all) (value ? set : missing) = name;
  if (missing != nullptr) {
    throw InvalidArgument(concat(set, " is set and ", missing, " is not; a launcher sets ", kRank, ", ",
                                 kWorkers, ", ", kRanks, " and ", kArena, " or ", kRendezvous));
  }
  read_way(standing, variables);
  const int most = standing.arena.empty() ? kMostMeetingRanks : transport::shm::kMaxRanks;
  const auto number = [&](const char* name, int lowest, int highest) {
    return static_cast<int>(parse_integer(variables.at(name), name, lowest, highest));
  };
  standing.ranks = number(kRanks, 1, most);
  standing.workers = number(kWorkers, 1, standing.ranks);
  standing.rank = number(kRank, 0, standing.ranks - 1);
  standing.started_by = concat("starling: ", kRank, "=", standing.rank, " of ", kRanks, "=", standing.ranks);
}

void read_place_of(const Detected& found, Standing& standing, const Variables& variables) {
  standing.rank = found.rank;
  standing.ranks = found.ranks;
  standing.workers = training_ranks(standing.strategy, standing.options, found.ranks);
  standing.started_by = found.text();
  if (standing.workers == 0) {
    throw InvalidArgument(concat("strategy ", standing.strategy, " keeps a rank for its service, and ",
                                 found.launcher, " has started one process (", found.names,
                                 "); start more, or set ", kOptions, "=server=beside"));
  }
  find_others(standing, found, variables);
}

void read_place(Standing& standing, const Variables& variables) {
  for (const char* const name : {kRank, kWorkers, kRanks, kArena}) {
    if (variables.count(name) > 0) return read_own_place(standing, variables);
  }
  if (const auto found = detect(variables)) return read_place_of(*found, standing, variables);
  if (variables.count(kRendezvous) > 0) return read_own_place(standing, variables);
  if (standing.transport == "mpi") {
    throw InvalidArgument(
        concat(kTransport, " is mpi, and neither mpirun nor srun has started this process"));
  }
}

void read_transport(Standing& standing, const Variables& variables) {
  standing.transport = value_in(variables, kTransport).value_or("auto");
  const std::set<std::string> allowed{"auto", "ucx", "mpi", "shm"};
  if (allowed.count(standing.transport) == 0)
    throw InvalidArgument(concat(kTransport, " '", standing.transport, "'; allowed: auto, ucx, mpi, shm"));
}

void read_silence(Standing& standing, const Variables& variables) {
  const auto text = value_in(variables, kSilence);
  if (!text) return;
  standing.silence = parse_duration(*text, kSilence);
  if (*standing.silence >= kShortestSilence && *standing.silence <= kLongestSilence) return;
  throw InvalidArgument(concat(kSilence, " '", *text, "'; allowed: ", format_duration(kShortestSilence),
                               " to ", format_duration(kLongestSilence)));
}

void read_strategy(Standing& standing, const Variables& variables) {
  standing.strategy = value_in(variables, kStrategy).value_or(standing.strategy);
  for (const std::string& word : split(value_in(variables, kOptions).value_or(""), ',')) {
    const std::size_t cut = word.find('=');
    if (cut == std::string::npos || cut == 0) {
      throw InvalidArgument(concat(kOptions, ": '", word, "'; allowed: NAME=VALUE,NAME=VALUE,..."));
    }
    standing.options[word.substr(0, cut)] = word.substr(cut + 1);
  }
  const strategy::Row& row = strategy::find_strategy(standing.strategy);
  strategy::Options::parse(row.options, row.name, standing.options);
}

}  // namespace

Standing read_standing(const Variables& variables) {
  Standing standing;
  read_transport(standing, variables);
  read_silence(standing, variables);
  read_strategy(standing, variables);
  read_place(standing, variables);
  if (const auto link = value_in(variables, kLink)) standing.link = transport::parse_link(*link, kLink);
  return standing;
}

Standing read_standing() { return read_standing(environment()); }

int training_ranks(const std::string& strategy, const strategy::OptionTexts& options, int ranks) {
  const strategy::Row& row = strategy::find_strategy(strategy);
  const auto made = row.make(strategy::Options::parse(row.options, row.name, options), ranks);
  return made->service() == strategy::Placement::kOwnRank ? ranks - 1 : ranks;
}

std::string text_of_way(const Standing& standing) {
  if (standing.through_mpi) return "through MPI";
  if (!standing.rendezvous.empty()) return concat("at the rendezvous ", standing.rendezvous);
  if (!standing.host_socket.empty()) return concat("by shared memory, socket ", standing.host_socket);
  if (!standing.arena.empty()) return concat("by the launcher's shared memory, socket ", standing.arena);
  return "nobody: a run of one";
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
    if (standing.silence) variables.emplace_back(kSilence, concat(standing.silence->count(), "ns"));
  }
  if (standing.link) variables.emplace_back(kLink, text_of(*standing.link));
  return variables;
}

}  // namespace starling::session
