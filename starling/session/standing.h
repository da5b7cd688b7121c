// Where a process stands in a run: its launcher tells it through variables of the environment.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "starling/core/types.h"
#include "starling/strategy/options.h"
#include "starling/transport/link.h"

namespace starling::session {

struct Standing {
  Rank rank = 0;
  int workers = 1;    // ranks 0 to workers-1 train
  int ranks = 1;      // with the one that only serves, if there is one
  std::string arena;  // the socket that hands out the shared memory; empty: alone, or by the rendezvous
  // Of a run on several hosts: the address that rank 0 listens on, the secret of the job, and what carries
  // messages between hosts.
  std::string rendezvous = {};
  std::string token = {};
  std::string transport = "auto";
  std::vector<int> host_of_rank = {};  // known once the process has joined; empty: all on one
  std::string strategy = "allreduce";
  strategy::OptionTexts options;
  std::optional<transport::Link> link;  // emulated between the ranks, each of which counts as a host

  bool trains() const { return rank < workers; }
};

// What STARLING_RANK, STARLING_WORKERS, STARLING_RANKS and STARLING_ARENA say, which are set together or not
// at all; on several hosts STARLING_RENDEZVOUS ("node1:4000") and STARLING_TOKEN stand in place of the last,
// and STARLING_TRANSPORT may be "auto", "ucx" or "shm". And STARLING_STRATEGY, STARLING_OPTIONS
// ("mode=ssp,staleness=3") and STARLING_LINK ("1gbe" or "40gbit/5us"). Without them a run of one. Throws
// InvalidArgument naming the variable.
Standing read_standing();

// The variables that make another process read this.
std::vector<std::pair<std::string, std::string>> variables_of(const Standing& standing);

}  // namespace starling::session
