// The rank of a process in a run and the facts about it, set by its launcher in variables of the environment.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "starling/core/types.h"
#include "starling/join/environment.h"
#include "starling/join/output_options.h"
#include "starling/membership/membership.h"
#include "starling/strategy/options.h"
#include "starling/transport/link.h"
#include "starling/transport/stall_limit.h"

namespace starling::join {

// The exit code of a worker that the others have excluded (membership::Excluded): EX_TEMPFAIL.
inline constexpr int kExcludedExitCode = 75;

struct RunEnvironment {
  Rank rank = 0;
  int workers = 1;    // ranks 0 to workers-1 train
  int ranks = 1;      // with the one that only serves, if there is one
  std::string arena;  // the socket that hands out the shared memory; empty: alone, or by the rendezvous
  // In a run on several hosts: the address that rank 0 listens on, the secret of the job, and the transport
  // between hosts.
  std::string rendezvous = {};
  std::string token = {};
  std::string transport = "auto";
  std::optional<Duration> silence = {};  // after which a rank of another host counts as lost
  // After which the ranks of a host end one of them that stands still; none: never.
  std::optional<Duration> stall_limit = transport::kDefaultStallLimit;
  bool end_on_loss = false;  // a lost worker ends the run where the strategy needs all of them
  // How long workers that cannot reach enough of the others to go on wait for them.
  Duration majority_patience = membership::Membership::kDefaultPatience;
  // For ranks that mpirun, srun or torchrun started: the socket on which rank 0 hands out the memory, if all
  // are on this host; or whether they exchange their addresses through MPI.
  std::string host_socket = {};
  bool through_mpi = false;
  std::string started_by = {};         // "torchrun: RANK=2 of WORLD_SIZE=4, ..."; empty: it is alone
  std::vector<int> host_of_rank = {};  // known once the process has joined; empty: all on one
  std::string strategy = "allreduce";
  strategy::OptionTexts options;
  OutputOptions output = {};
  std::optional<transport::Link> link;  // emulated between the ranks, each of which counts as a host

  bool trains() const { return rank < workers; }
};

// Reads STARLING_RANK, STARLING_WORKERS, STARLING_RANKS and STARLING_ARENA, which are set together or not at
// all; on several hosts STARLING_RENDEZVOUS ("node1:4000") and STARLING_TOKEN replace the last. Without them
// the variables of mpirun, srun or torchrun count (launcher_detection.h), and without these it is a run of
// one. Also STARLING_TRANSPORT ("auto", "ucx", "mpi" or "shm"), STARLING_SILENCE ("5s"), STARLING_STALL
// ("20s", "off"), STARLING_ON_LOSS ("go-on", "end"), STARLING_PATIENCE ("5m"), STARLING_STRATEGY,
// STARLING_OPTIONS ("mode=ssp,staleness=3") and STARLING_LINK ("1gbe" or "40gbit/5us"). Throws
// InvalidArgument naming the variable.
RunEnvironment read_run_environment(const EnvironmentVariables& variables);
RunEnvironment read_run_environment();

// True for "end", false for "go-on". InvalidArgument, naming `what` and the text, for anything else.
bool parse_on_loss(const std::string& text, std::string_view what);
// What STARLING_ON_LOSS says.
bool ends_on_loss(const EnvironmentVariables& variables);

// How many of so many ranks train: all, or all but the last, which the strategy keeps for its service.
int training_ranks(const std::string& strategy, const strategy::OptionTexts& options, int ranks);

// How such a process joins, for people: "by shared memory, socket starling-...", "at node1:4000".
std::string join_method_text(const RunEnvironment& environment);

// The variables that make another process read this.
std::vector<std::pair<std::string, std::string>> variables_of(const RunEnvironment& environment);

}  // namespace starling::join
