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

// On one host, without the rank of the service: limited by shared memory.
inline constexpr int kMostWorkers = transport::shm::kMaxRanks - 1;

// The hosts of a run, and what its processes are given there (remote_command.h).
struct HostsPlan {
  using Variables = std::vector<std::pair<std::string, std::string>>;

  std::vector<HostSlots> hosts;
  std::vector<std::string> agent;  // a command that behaves like ssh; the host and a command are appended
  std::string rendezvous;          // where rank 0, on the first host, listens; empty: at a port by chance
  std::string folder;              // where the processes run
  Variables variables;             // besides those that describe a process's rank
  Variables paths;                 // put in front of what the host has
};

struct LaunchPlan {
  int workers = 1;
  bool own_output = false;  // the processes write where this one writes; else with the rank before each line
  std::vector<int> run_exit_codes;  // of a process, that are about the run: it does not go on after them
  Duration grace = std::chrono::seconds(5);  // for ending after a signal or a failure
  std::string strategy = "allreduce";
  strategy::OptionTexts options;
  std::optional<bool> end_on_loss = {};  // where the strategy needs all workers; none: STARLING_ON_LOSS
  std::optional<transport::Link> link;   // emulated between the ranks
  std::vector<std::string> command;      // looked up in PATH
  join::OutputOptions output;            // what the programs are to leave
  std::optional<HostsPlan> elsewhere;    // instead of on this host
};

// Whether the loss of a worker ends the run where the strategy needs all workers.
bool ends_on_loss(const LaunchPlan& plan);

// Returns when all have ended. The exit code is 0 if all ended well, or if only workers died that the
// strategy can do without and the rest, at least one worker, ended well; otherwise that of the first that
// failed. SIGINT, SIGTERM and SIGHUP are passed on; a process that has not ended `grace` after such a signal,
// or after the first failure, is killed; so is one that stays stopped (SIGSTOP) after another has ended well.
// Events are reported on stderr, one line each. A process that its host's agent cannot start ends the run,
// whatever the strategy.
int launch(const LaunchPlan& plan);

// Ports that the kernel does not assign automatically.
inline constexpr int kFirstPort = 20000, kLastPort = 29999;

}  // namespace starling::launch
