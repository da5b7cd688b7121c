// The coordinator is the worker that does what one worker has to do for all: it takes the records, shows the
// progress, averages snapshots, completes checkpoints, gives out batches and writes the files of the run. It
// is the lowest worker that is not lost, so its duties pass on when it dies.
//
// Ranks do not hear of a loss at the same time. So a worker takes what is sent to the coordinator even if it
// does not know yet that it is; whoever learns that there is a new one sends it again what it needs.
#pragma once

#include <optional>

#include "starling/transport/transport.h"

namespace starling::session {

inline Rank coordinator_of(const transport::Transport& net) {
  Rank rank = 0;
  while (rank != net.rank() && net.lost(rank)) ++rank;
  return rank;
}

inline bool is_coordinator(const transport::Transport& net) { return coordinator_of(net) == net.rank(); }

// The worker that follows if the coordinator is lost. None: no other worker lives.
inline std::optional<Rank> successor_of(const transport::Transport& net, int workers) {
  Rank rank = coordinator_of(net) + 1;
  while (rank < workers && net.lost(rank)) ++rank;
  if (rank >= workers) return {};
  return rank;
}

}  // namespace starling::session
