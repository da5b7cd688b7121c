// Joins the run that a process was started in: the processes meet, at a rendezvous or through MPI, and learn
// where each of them is. Those of one host share memory; others are reached through the network. Where all
// are on one host anyway, they meet in its memory.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "starling/join/run_environment.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/transport/transport.h"

namespace starling::transport::wire {
class MpiWorld;
}

namespace starling::join {

struct Joined {
  std::unique_ptr<transport::Transport> net;
  std::vector<int> host_of_rank = {};  // counted in the order of their lowest ranks; empty: all on one
  std::shared_ptr<transport::wire::MpiWorld> mpi = {};  // if it was used; must outlive the transport
};

// Whether a process with this environment has to find the others itself.
bool joins_by_itself(const RunEnvironment& environment);

// For such an environment. Rank 0 holds the rendezvous, or makes the memory. Returns when all processes of
// this host have joined. Throws a Timeout that names the missing ones, and Error if the network library does
// not work or processes do not fit together.
Joined join_run(runtime::LoopScheduler& loop, const RunEnvironment& environment,
                Duration patience = std::chrono::seconds(60));

}  // namespace starling::join
