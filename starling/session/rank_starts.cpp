#include "starling/session/rank_starts.h"

#include <unistd.h>

#include <chrono>

#include "starling/core/random.h"
#include "starling/core/text.h"
#include "starling/session/host_list.h"
#include "starling/session/meeting_point.h"
#include "starling/session/remote_command.h"

namespace starling::session {

namespace {

std::uint64_t by_chance() {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return Random(static_cast<std::uint64_t>(now) ^ static_cast<std::uint64_t>(getpid())).next();
}

// The other hosts know the first by the name that the agent does.
std::string rendezvous_of(const HostsPlan& plan) {
  if (!plan.rendezvous.empty()) return plan.rendezvous;
  const auto port = static_cast<std::uint16_t>(kFirstPort + by_chance() % (kLastPort - kFirstPort + 1));
  return address_of({.host = address_in(plan.hosts.front().name), .port = port, .token = {}});
}

}  // namespace

RankStarts::RankStarts(const LaunchPlan& plan, int ranks, const sigset_t& mask) : plan_(plan), mask_(mask) {
  standing_ = {.workers = plan.workers,
               .ranks = ranks,
               .arena = {},
               .strategy = plan.strategy,
               .options = plan.options,
               .link = plan.link};
  if (!plan.elsewhere) {
    standing_.arena = concat("starling-", getpid(), "-", by_chance());
    return;
  }
  standing_.rendezvous = rendezvous_of(*plan.elsewhere);
  standing_.token = make_token();
  places_ = place_ranks(plan.elsewhere->hosts, plan.workers, ranks);
}

LaunchedProcess::Start RankStarts::of(Rank rank) const {
  Standing standing = standing_;
  standing.rank = rank;
  if (plan_.elsewhere) return by_agent(standing);
  LaunchedProcess::Start start{
      .prefix = {}, .command = plan_.command, .variables = variables_of(standing), .mask = mask_};
  if (!plan_.own_output) start.prefix = concat("[", rank, "] ");
  return start;
}

LaunchedProcess::Start RankStarts::by_agent(const Standing& standing) const {
  const HostsPlan& elsewhere = *plan_.elsewhere;
  const std::string host = host_of(standing.rank);
  RemoteProgram program{.host = address_in(host),
                        .folder = elsewhere.folder,
                        .command = plan_.command,
                        .variables = variables_of(standing),
                        .paths = elsewhere.paths};
  // The last one counts.
  program.variables.insert(program.variables.end(), elsewhere.variables.begin(), elsewhere.variables.end());
  LaunchedProcess::Start start{.prefix = concat("[", address_in(host), " ", standing.rank, "] "),
                               .command = elsewhere.agent,
                               .variables = {},
                               .mask = mask_,
                               .script = remote_script(program)};
  start.command.push_back(host);
  start.command.push_back(remote_shell());
  return start;
}

std::string RankStarts::host_of(Rank rank) const {
  if (!plan_.elsewhere) return {};
  return plan_.elsewhere->hosts[places_[static_cast<std::size_t>(rank)]].name;
}

std::string RankStarts::name_of(Rank rank) const {
  if (!plan_.elsewhere) return concat("rank ", rank);
  return concat("rank ", rank, " on ", address_in(host_of(rank)));
}

}  // namespace starling::session
