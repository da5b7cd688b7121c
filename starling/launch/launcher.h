// Starts the processes of a run on this host, or through agents on several, passes their output on with the
// rank before each line, and ends them all when one fails.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "starling/join/output_options.h"
#include "starling/join/run_environment.h"
#include "starling/launch/host_list.h"
#include "starling/transport/shm/layout.h"

namespace starling::launch {

// Of a host. And a rank for the service: as many as shared memory has places for.
inline constexpr int kMostWorkers = transport::shm::kMaxRanks - 1;

// The hosts of a run, and what its processes are given there (remote_command.h).
struct HostsPlan {
  using Variables = std::vector<std::pair<std::string, std::string>>;

  std::vector<HostSlots> hosts;
  std::vector<std::string> agent;  // a command that behaves like ssh; the host and a command come behind it
  std::string rendezvous;          // where rank 0, on the first host, listens; empty: at a port by chance
  std::string folder;              // where the processes run
  Variables variables;             // besides those that say where a process stands
  Variables paths;                 // put in front of what the host has
};

struct LaunchPlan {
  int workers = 1;
  bool own_output = false;  // the processes write where this one writes; else with the rank before each line
  Rank leader = -1;         // the run does not go on without it
  Duration grace = std::chrono::seconds(5);  // for ending after a signal or a failure
  std::string strategy = "allreduce";
  strategy::OptionTexts options;
  std::optional<transport::Link> link;  // emulated between the ranks
  std::vector<std::string> command;     // looked up in PATH
  join::OutputOptions output;           // what the programs are to leave
  std::optional<HostsPlan> elsewhere;   // instead of on this host
};

// Returns when all have ended. The exit code: 0 if all ended well, or if those that died were workers without
// which the strategy goes on and the rest ended well; else that of the first that failed. SIGINT, SIGTERM and
// SIGHUP are passed on; who has not ended `grace` after such a signal, or after the first failure, is
// killed. What happened is told on stderr, a line each. A process that its host's agent cannot start ends
// the run, whatever the strategy.
int launch(const LaunchPlan& plan);

// Ports that the kernel does not give to who asks for any.
inline constexpr int kFirstPort = 20000, kLastPort = 29999;

}  // namespace starling::launch
