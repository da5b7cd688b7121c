// Joins a run on several hosts: the processes meet at the rendezvous and learn where each of them is. Those
// of one host share memory; others are reached through the network.
#pragma once

#include <memory>
#include <vector>

#include "starling/runtime/loop_scheduler.h"
#include "starling/session/standing.h"
#include "starling/transport/transport.h"

namespace starling::session {

struct Joined {
  std::unique_ptr<transport::Transport> net;
  std::vector<int> host_of_rank;  // counted in the order of their lowest ranks
};

// For a standing with a rendezvous, which rank 0 holds. Returns when all processes of this host have come
// together. Throws Timeout that names who is missing, and Error if the network library does not work or
// processes do not fit together.
Joined join_run(runtime::LoopScheduler& loop, const Standing& standing);

}  // namespace starling::session
