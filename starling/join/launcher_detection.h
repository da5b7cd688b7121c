// Detects the launcher that started this process as one of several ranks: torchrun, mpirun and srun each
// leave variables in the environment. docs/launchers.md has the table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "starling/core/types.h"
#include "starling/join/environment.h"

namespace starling::join {

struct DetectedLauncher {
  std::string launcher = {};  // "torchrun", "mpirun" or "srun"
  Rank rank = 0;
  int ranks = 1;
  std::optional<int> local_rank = {};   // among the ranks of this host, if known
  std::optional<int> local_ranks = {};  // how many those are
  std::string names = {};               // "RANK=2 of WORLD_SIZE=4"
  std::string where = {};               // "all on this host (LOCAL_WORLD_SIZE=4)"; empty: unknown
  std::string job = {};                 // distinguishes it from the user's other jobs; empty: unknown
  std::string meeting = {};             // HOST:PORT on which the job's hosts can meet; empty: there is none
  bool has_mpi = false;                 // the ranks may start MPI together

  bool one_host() const { return local_ranks == ranks; }
  // "torchrun: RANK=2 of WORLD_SIZE=4, all on this host (LOCAL_WORLD_SIZE=4)"
  std::string text() const;
};

// None if no launcher's variables are set. torchrun goes before the others, because one of them may have
// started it, and mpirun before srun, with which it may start its own processes. InvalidArgument, naming the
// variables, if they are incomplete or contradict each other.
std::optional<DetectedLauncher> detect_launcher(const EnvironmentVariables& variables);

// "node01" of "node[01-04,7],x", as Slurm writes lists of hosts.
std::string first_node(std::string_view list);

}  // namespace starling::join
