#include "starling/launch/rank_commands.h"

#include <unistd.h>

#include <chrono>

#include "starling/core/random.h"
#include "starling/core/text.h"
#include "starling/join/rendezvous_address.h"
#include "starling/launch/host_list.h"
#include "starling/launch/remote_command.h"

namespace starling::launch {

namespace {

std::uint64_t by_chance() {
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return Random(static_cast<std::uint64_t>(now) ^ static_cast<std::uint64_t>(getpid())).next();
}

// The other hosts know the first by the name that the agent does.
std::string rendezvous_of(const HostsPlan& plan) {
  if (!plan.rendezvous.empty()) return plan.rendezvous;
  const auto port = static_cast<std::uint16_t>(kFirstPort + by_chance() % (kLastPort - kFirstPort + 1));
  return join::address_of({.host = address_in(plan.hosts.front().name), .port = port, .token = {}});
}

}  // namespace

RankCommands::RankCommands(const LaunchPlan& plan, int ranks, const sigset_t& mask)
    : plan_(plan), mask_(mask) {
  environment_ = {.workers = plan.workers,
                  .ranks = ranks,
                  .arena = {},
                  .end_on_loss = ends_on_loss(plan),
                  .strategy = plan.strategy,
                  .options = plan.options,
                  .output = plan.output,
                  .link = plan.link};
  if (!plan.elsewhere) {
    environment_.arena = concat("starling-", getpid(), "-", by_chance());
    return;
  }
  environment_.rendezvous = rendezvous_of(*plan.elsewhere);
  environment_.token = join::make_token();
  places_ = place_ranks(plan.elsewhere->hosts, plan.workers, ranks);
}

LaunchedProcess::Start RankCommands::of(Rank rank) const {
  join::RunEnvironment environment = environment_;
  environment.rank = rank;
  if (plan_.elsewhere) return by_agent(environment);
  LaunchedProcess::Start start{
      .prefix = {}, .command = plan_.command, .variables = join::variables_of(environment), .mask = mask_};
  if (!plan_.own_output) start.prefix = concat("[", rank, "] ");
  start.progress = plan_.output.progress;
  return start;
}

LaunchedProcess::Start RankCommands::by_agent(const join::RunEnvironment& environment) const {
  const HostsPlan& elsewhere = *plan_.elsewhere;
  const std::string host = host_of(environment.rank);
  RemoteProgram program{.host = address_in(host),
                        .folder = elsewhere.folder,
                        .command = plan_.command,
                        .variables = join::variables_of(environment),
                        .paths = elsewhere.paths};
  // The last one counts.
  program.variables.insert(program.variables.end(), elsewhere.variables.begin(), elsewhere.variables.end());
  LaunchedProcess::Start start{.prefix = concat("[", address_in(host), " ", environment.rank, "] "),
                               .command = elsewhere.agent,
                               .variables = {},
                               .mask = mask_,
                               .script = remote_script(program),
                               .progress = plan_.output.progress};
  start.command.push_back(host);
  start.command.push_back(remote_shell());
  return start;
}

std::string RankCommands::host_of(Rank rank) const {
  if (!plan_.elsewhere) return {};
  return plan_.elsewhere->hosts[places_[static_cast<std::size_t>(rank)]].name;
}

std::string RankCommands::name_of(Rank rank) const {
  if (!plan_.elsewhere) return concat("rank ", rank);
  return concat("rank ", rank, " on ", address_in(host_of(rank)));
}

}  // namespace starling::launch
