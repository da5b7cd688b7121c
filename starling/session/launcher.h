// Starts the processes of a run on this host, passes their output on with the rank before each line, and ends
// them all when one fails.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "starling/session/standing.h"
#include "starling/transport/shm/layout.h"

namespace starling::session {

// And a rank for the service: as many as shared memory has places for.
inline constexpr int kMostWorkers = transport::shm::kMaxRanks - 1;

struct LaunchPlan {
  int workers = 1;
  bool own_output = false;  // the processes write where this one writes; else with the rank before each line
  Rank leader = -1;         // the run does not go on without it
  Duration grace = std::chrono::seconds(5);  // for ending after a signal or a failure
  std::string strategy = "allreduce";
  strategy::OptionTexts options;
  std::optional<transport::Link> link;  // emulated between the ranks
  std::vector<std::string> command;     // looked up in PATH
};

// Returns when all have ended. The exit code: 0 if all ended well, or if those that died were workers without
// which the strategy goes on and the rest ended well; else that of the first that failed. SIGINT, SIGTERM and
// SIGHUP are passed on; who has not ended `grace` after such a signal, or after the first failure, is
// killed. What happened is told on stderr, a line each.
int launch(const LaunchPlan& plan);

}  // namespace starling::session
