#include "starling/join/run_environment.h"

#include <chrono>
#include <set>

#include "starling/core/error.h"
#include "starling/join/join_method.h"
#include "starling/join/launcher_detection.h"
#include "starling/join/rendezvous_address.h"
#include "starling/join/rendezvous_protocol.h"
#include "starling/strategy/registry.h"
#include "starling/transport/shm/layout.h"

namespace starling::join {

namespace {

constexpr const char* kRank = "STARLING_RANK";
constexpr const char* kWorkers = "STARLING_WORKERS";
constexpr const char* kRanks = "STARLING_RANKS";
constexpr const char* kArena = "STARLING_ARENA";
constexpr const char* kTransport = "STARLING_TRANSPORT";
constexpr const char* kSilence = "STARLING_SILENCE";
constexpr const char* kStall = "STARLING_STALL";
constexpr const char* kOnLoss = "STARLING_ON_LOSS";
constexpr const char* kMajorityPatience = "STARLING_PATIENCE";
constexpr const char* kStrategy = "STARLING_STRATEGY";
constexpr const char* kOptions = "STARLING_OPTIONS";
constexpr const char* kLink = "STARLING_LINK";

// Several signs of life fall within a limit, and a busy machine may delay one for a while.
constexpr Duration kShortestLimit = std::chrono::milliseconds(100);
constexpr Duration kLongestLimit = std::chrono::hours(1);

// How the process finds the others: by the memory of a launcher on this host, or by a rendezvous.
void read_way(RunEnvironment& environment, const EnvironmentVariables& variables) {
  const auto arena = value_in(variables, kArena), rendezvous = value_in(variables, kRendezvousVariable);
  const auto token = value_in(variables, kTokenVariable);
  if (arena && rendezvous) {
    throw InvalidArgument(concat(kArena, " and ", kRendezvousVariable,
                                 " are set; the first is for one host, the second "
                                 "for several"));
  }
  if (environment.transport == "mpi") {
    throw InvalidArgument(concat(kTransport, " is mpi, and ", kRank,
                                 " is set; MPI needs ranks that mpirun or srun has started"));
  }
  if (arena) {
    if (arena->empty()) throw InvalidArgument(concat(kArena, " is empty; a launcher sets it"));
    environment.arena = *arena;
    return;
  }
  if (!token || token->empty())
    throw InvalidArgument(
        concat(kRendezvousVariable, " is set and ", kTokenVariable, " is not; all processes need the same"));
  parse_rendezvous_address(*rendezvous, kRendezvousVariable);
  environment.rendezvous = *rendezvous;
  environment.token = *token;
}

void read_own_place(RunEnvironment& environment, const EnvironmentVariables& variables) {
  const auto has = [&](const char* name) { return variables.count(name) > 0; };
  const std::pair<const char*, bool> all[] = {
      {kRank, has(kRank)},
      {kWorkers, has(kWorkers)},
      {kRanks, has(kRanks)},
      {has(kRendezvousVariable) ? kRendezvousVariable : kArena, has(kArena) || has(kRendezvousVariable)}};
  const char* set = nullptr;
  const char* missing = nullptr;
  for (const auto& [name, value] : all) (value ? set : missing) = name;
  if (missing != nullptr) {
    throw InvalidArgument(concat(set, " is set and ", missing, " is not; a launcher sets ", kRank, ", ",
                                 kWorkers, ", ", kRanks, " and ", kArena, " or ", kRendezvousVariable));
  }
  read_way(environment, variables);
  const int most = environment.arena.empty() ? kMostMeetingRanks : transport::shm::kMaxRanks;
  const auto number = [&](const char* name, int lowest, int highest) {
    return static_cast<int>(parse_integer(variables.at(name), name, lowest, highest));
  };
  environment.ranks = number(kRanks, 1, most);
  environment.workers = number(kWorkers, 1, environment.ranks);
  environment.rank = number(kRank, 0, environment.ranks - 1);
  environment.started_by =
      concat("starling: ", kRank, "=", environment.rank, " of ", kRanks, "=", environment.ranks);
}

void read_place_of(const DetectedLauncher& found, RunEnvironment& environment,
                   const EnvironmentVariables& variables) {
  environment.rank = found.rank;
  environment.ranks = found.ranks;
  environment.workers = training_ranks(environment.strategy, environment.options, found.ranks);
  environment.started_by = found.text();
  if (environment.workers == 0) {
    throw InvalidArgument(concat("strategy ", environment.strategy, " keeps a rank for its service, and ",
                                 found.launcher, " has started one process (", found.names,
                                 "); start more, or set ", kOptions, "=server=beside"));
  }
  choose_join_method(environment, found, variables);
}

void read_place(RunEnvironment& environment, const EnvironmentVariables& variables) {
  for (const char* const name : {kRank, kWorkers, kRanks, kArena}) {
    if (variables.count(name) > 0) return read_own_place(environment, variables);
  }
  if (const auto found = detect_launcher(variables)) return read_place_of(*found, environment, variables);
  if (variables.count(kRendezvousVariable) > 0) return read_own_place(environment, variables);
  if (environment.transport == "mpi") {
    throw InvalidArgument(
        concat(kTransport, " is mpi, and neither mpirun nor srun has started this process"));
  }
}

void read_transport(RunEnvironment& environment, const EnvironmentVariables& variables) {
  environment.transport = value_in(variables, kTransport).value_or("auto");
  const std::set<std::string> allowed{"auto", "ucx", "mpi", "shm"};
  if (allowed.count(environment.transport) == 0)
    throw InvalidArgument(concat(kTransport, " '", environment.transport, "'; allowed: auto, ucx, mpi, shm"));
}

Duration limit_in(const std::string& text, const char* name, std::string_view also = "") {
  const Duration limit = parse_duration(text, name);
  if (limit >= kShortestLimit && limit <= kLongestLimit) return limit;
  throw InvalidArgument(concat(name, " '", text, "'; allowed: ", format_duration(kShortestLimit), " to ",
                               format_duration(kLongestLimit), also));
}

void read_limits(RunEnvironment& environment, const EnvironmentVariables& variables) {
  if (const auto text = value_in(variables, kSilence)) environment.silence = limit_in(*text, kSilence);
  if (const auto text = value_in(variables, kMajorityPatience)) {
    environment.majority_patience = limit_in(*text, kMajorityPatience);
  }
  const auto text = value_in(variables, kStall);
  if (!text) return;
  environment.stall_limit.reset();
  if (*text != "off") environment.stall_limit = limit_in(*text, kStall, ", off");
}

void read_strategy(RunEnvironment& environment, const EnvironmentVariables& variables) {
  environment.strategy = value_in(variables, kStrategy).value_or(environment.strategy);
  const strategy::StrategyEntry& row = strategy::find_strategy(environment.strategy);
  for (const std::string& word : split(value_in(variables, kOptions).value_or(""), ',')) {
    const std::size_t cut = word.find('=');
    if (cut == std::string::npos || cut == 0) {
      throw InvalidArgument(concat(kOptions, ": '", word, "'; allowed: NAME=VALUE,NAME=VALUE,..."));
    }
    strategy::find_option(row.options, word.substr(0, cut), concat(kOptions, ": "));
    environment.options[word.substr(0, cut)] = word.substr(cut + 1);
  }
  strategy::Options::parse(row.options, row.name, environment.options);
}

}  // namespace

bool parse_on_loss(const std::string& text, std::string_view what) {
  if (text != "go-on" && text != "end") {
    throw InvalidArgument(concat(what, ": '", text, "'; allowed: go-on, end"));
  }
  return text == "end";
}

bool ends_on_loss(const EnvironmentVariables& variables) {
  return parse_on_loss(value_in(variables, kOnLoss).value_or("go-on"), kOnLoss);
}

RunEnvironment read_run_environment(const EnvironmentVariables& variables) {
  RunEnvironment environment;
  read_transport(environment, variables);
  read_limits(environment, variables);
  environment.end_on_loss = ends_on_loss(variables);
  read_strategy(environment, variables);
  read_place(environment, variables);
  environment.output = read_output_options(variables);
  if (const auto link = value_in(variables, kLink)) environment.link = transport::parse_link(*link, kLink);
  return environment;
}

RunEnvironment read_run_environment() { return read_run_environment(process_environment()); }

int training_ranks(const std::string& strategy, const strategy::OptionTexts& options, int ranks) {
  const strategy::StrategyEntry& row = strategy::find_strategy(strategy);
  const auto made = row.make(strategy::Options::parse(row.options, row.name, options), ranks);
  return made->service() == strategy::Placement::kOwnRank ? ranks - 1 : ranks;
}

std::string join_method_text(const RunEnvironment& environment) {
  if (environment.through_mpi) return "through MPI";
  if (!environment.rendezvous.empty()) return concat("at the rendezvous ", environment.rendezvous);
  if (!environment.host_socket.empty()) return concat("by shared memory, socket ", environment.host_socket);
  if (!environment.arena.empty())
    return concat("by the launcher's shared memory, socket ", environment.arena);
  return "nobody: a run of one";
}

std::vector<std::pair<std::string, std::string>> variables_of(const RunEnvironment& environment) {
  std::vector<std::string> options;
  for (const auto& [name, value] : environment.options) options.push_back(concat(name, "=", value));
  std::vector<std::pair<std::string, std::string>> variables{{kRank, std::to_string(environment.rank)},
                                                             {kWorkers, std::to_string(environment.workers)},
                                                             {kRanks, std::to_string(environment.ranks)},
                                                             {kStrategy, environment.strategy},
                                                             {kOptions, join_texts(options, ",")}};
  if (environment.rendezvous.empty()) {
    variables.emplace_back(kArena, environment.arena);
  } else {
    variables.emplace_back(kRendezvousVariable, environment.rendezvous);
    variables.emplace_back(kTokenVariable, environment.token);
    variables.emplace_back(kTransport, environment.transport);
    if (environment.silence) variables.emplace_back(kSilence, concat(environment.silence->count(), "ns"));
  }
  if (environment.stall_limit != transport::kDefaultStallLimit) {
    variables.emplace_back(kStall,
                           environment.stall_limit ? concat(environment.stall_limit->count(), "ns") : "off");
  }
  variables.emplace_back(kOnLoss, environment.end_on_loss ? "end" : "go-on");
  if (environment.majority_patience != membership::Membership::kDefaultPatience) {
    variables.emplace_back(kMajorityPatience, concat(environment.majority_patience.count(), "ns"));
  }
  if (environment.link) variables.emplace_back(kLink, text_of(*environment.link));
  for (auto& variable : variables_of(environment.output)) variables.push_back(std::move(variable));
  return variables;
}

}  // namespace starling::join
