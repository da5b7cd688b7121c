// How each rank of a launch is started: on this host, or through an agent on the host that it is meant for.
#pragma once

#include <signal.h>

#include <string>
#include <vector>

#include "starling/join/run_environment.h"
#include "starling/launch/launched_process.h"
#include "starling/launch/launcher.h"

namespace starling::launch {

class RankCommands {
 public:
  // `ranks` with the one that only serves, if there is one. The plan must outlive this.
  RankCommands(const LaunchPlan& plan, int ranks, const sigset_t& mask);

  int ranks() const { return environment_.ranks; }
  // The socket that hands out this host's shared memory; empty if the run is elsewhere.
  const std::string& arena() const { return environment_.arena; }
  LaunchedProcess::Start of(Rank rank) const;

  // The name as the user gave it; empty for this host.
  std::string host_of(Rank rank) const;
  // "rank 2", "rank 2 on node1"
  std::string name_of(Rank rank) const;

 private:
  LaunchedProcess::Start by_agent(const join::RunEnvironment& environment) const;

  const LaunchPlan& plan_;
  join::RunEnvironment environment_;
  sigset_t mask_;
  std::vector<std::size_t> places_;  // of the ranks among the hosts
};

}  // namespace starling::launch
