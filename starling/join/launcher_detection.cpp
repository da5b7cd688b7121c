#include "starling/join/launcher_detection.h"

#include "starling/core/error.h"
#include "starling/core/text.h"
#include "starling/join/rendezvous_protocol.h"

namespace starling::join {

namespace {

// The names of a launcher's variables.
struct Names {
  const char* launcher;
  const char* rank;
  const char* ranks;
  const char* local_rank;
  const char* local_ranks;
};

constexpr Names kTorchrun{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names kOpenMpi{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                         "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
// MPICH, Intel MPI and others that start processes by Hydra.
constexpr Names kPmi{"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
constexpr Names kSlurm{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""};
constexpr const char* kOlderTasks = "SLURM_NTASKS";
constexpr const char* kTorchJob = "TORCHELASTIC_RUN_ID";

// Steps that are no tasks of srun have the highest numbers: the script of a batch job, the shell of salloc.
constexpr long long kFirstSpecialStep = 0xfffffff0;
// Ports that systems do not give out by themselves, and few services use.
constexpr long long kFirstPort = 20000;
constexpr long long kPorts = 12000;

std::string pair(const char* name, const EnvironmentVariables& variables) {
  return concat(name, "=", variables.at(name));
}

int number(const char* name, const EnvironmentVariables& variables, int lowest) {
  return static_cast<int>(parse_integer(variables.at(name), name, lowest, kMostMeetingRanks));
}

// `low` has to be below `high`, or equal to it.
void check_order(const char* low, int low_value, const char* high, int high_value, bool may_be_equal) {
  if (low_value < high_value || (may_be_equal && low_value == high_value)) return;
  throw InvalidArgument(concat(low, "=", low_value, " and ", high, "=", high_value,
                               " contradict each other: the first must be ",
                               may_be_equal ? "at most" : "below", " the second"));
}

// Nothing if the launcher left neither rank nor number.
std::optional<DetectedLauncher> read(const Names& names, const EnvironmentVariables& variables) {
  const bool rank = variables.count(names.rank) > 0, ranks = variables.count(names.ranks) > 0;
  if (!rank && !ranks) return {};
  if (!rank || !ranks) {
    throw InvalidArgument(concat(rank ? pair(names.rank, variables) : pair(names.ranks, variables),
                                 " is set and ", rank ? names.ranks : names.rank, " is not; ", names.launcher,
                                 " sets both, and without it neither may be set"));
  }
  DetectedLauncher found{.launcher = names.launcher,
                         .rank = number(names.rank, variables, 0),
                         .ranks = number(names.ranks, variables, 1),
                         .names = concat(pair(names.rank, variables), " of ", pair(names.ranks, variables))};
  check_order(names.rank, found.rank, names.ranks, found.ranks, false);
  if (variables.count(names.local_ranks) > 0) {
    found.local_ranks = number(names.local_ranks, variables, 1);
    check_order(names.local_ranks, *found.local_ranks, names.ranks, found.ranks, true);
    found.where = concat(found.one_host() ? "all on this host (" : "not all on this host (",
                         pair(names.local_ranks, variables), ")");
  }
  if (variables.count(names.local_rank) > 0) {
    found.local_rank = number(names.local_rank, variables, 0);
    if (found.local_ranks)
      check_order(names.local_rank, *found.local_rank, names.local_ranks, *found.local_ranks, false);
  }
  return found;
}

// The values of those that are set.
std::string job_of(const EnvironmentVariables& variables, std::initializer_list<const char*> names) {
  std::vector<std::string> values;
  for (const char* const name : names) {
    if (variables.count(name) > 0) values.push_back(pair(name, variables));
  }
  return join_texts(values, " ");
}

std::optional<DetectedLauncher> read_torchrun(const EnvironmentVariables& variables) {
  auto found = read(kTorchrun, variables);
  if (!found && variables.count(kTorchJob) > 0) {
    throw InvalidArgument(
        concat(pair(kTorchJob, variables), " is set and RANK and WORLD_SIZE are not; torchrun sets all"));
  }
  if (!found) return {};
  found->job = job_of(variables, {"MASTER_ADDR", "MASTER_PORT", kTorchJob, "TORCHELASTIC_RESTART_COUNT"});
  const auto host = value_in(variables, "MASTER_ADDR"), port = value_in(variables, "MASTER_PORT");
  if (host && port) {
    const bool brackets = host->find(':') != std::string::npos;
    // The port itself is torchrun's own.
    found->meeting = concat(brackets ? "[" : "", *host, brackets ? "]:" : ":",
                            parse_integer(*port, "MASTER_PORT", 1, 65534) + 1);
  }
  return found;
}

std::optional<DetectedLauncher> read_mpirun(const EnvironmentVariables& variables) {
  auto found = read(kOpenMpi, variables);
  if (!found) found = read(kPmi, variables);
  if (!found) return {};
  found->job = job_of(variables, {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID"});
  found->has_mpi = true;
  return found;
}

// The number of a step whose tasks srun has started; none in a batch script and similar.
std::optional<long long> step_of(const EnvironmentVariables& variables) {
  const auto step = value_in(variables, "SLURM_STEP_ID");
  if (!step || step->empty() || step->find_first_not_of("0123456789") != std::string::npos) return {};
  if (step->size() > 10) return {};
  const long long number = std::stoll(*step);
  if (number >= kFirstSpecialStep) return {};
  return number;
}

std::optional<DetectedLauncher> read_srun(const EnvironmentVariables& variables) {
  const auto step = step_of(variables);
  if (!step || variables.count(kSlurm.rank) == 0) return {};
  Names names = kSlurm;
  if (variables.count(names.ranks) == 0) names.ranks = kOlderTasks;
  auto found = read(names, variables);
  const char* const nodes =
      variables.count("SLURM_STEP_NUM_NODES") > 0 ? "SLURM_STEP_NUM_NODES" : "SLURM_NNODES";
  if (variables.count(nodes) > 0) {
    const int count = number(nodes, variables, 1);
    if (count == 1) found->local_ranks = found->ranks;
    found->where =
        concat(count == 1 ? "all on this host (" : "not all on this host (", pair(nodes, variables), ")");
  }
  found->job = job_of(variables, {"SLURM_JOB_ID", "SLURM_STEP_ID"});
  found->has_mpi = true;
  const auto list = value_in(variables, "SLURM_STEP_NODELIST");
  const auto job = value_in(variables, "SLURM_JOB_ID");
  if (list && job) {
    const long long id = parse_integer(*job, "SLURM_JOB_ID", 0, kFirstSpecialStep);
    found->meeting = concat(first_node(*list), ":", kFirstPort + (7 * id + *step) % kPorts);
  }
  return found;
}

// A script may have set RANK or WORLD_SIZE for a program of another kind; they must say the same.
void check_agrees(const DetectedLauncher& found, const EnvironmentVariables& variables) {
  const auto check = [&](const char* name, int value) {
    const auto said = value_in(variables, name);
    if (!said || *said == std::to_string(value)) return;
    throw InvalidArgument(
        concat(name, "=", *said, " contradicts what ", found.launcher, " says, ", found.names));
  };
  check(kTorchrun.rank, found.rank);
  check(kTorchrun.ranks, found.ranks);
}

}  // namespace

std::string DetectedLauncher::text() const {
  return concat(launcher, ": ", names, where.empty() ? "" : ", ", where);
}

std::optional<DetectedLauncher> detect_launcher(const EnvironmentVariables& variables) {
  if (variables.count(kTorchJob) > 0) return read_torchrun(variables);
  auto mpirun = read_mpirun(variables), srun = read_srun(variables);
  // With --mpi=pmi2 srun sets the variables of PMI too, and knows more about the hosts.
  const bool of_srun = mpirun && srun && mpirun->rank == srun->rank && mpirun->ranks == srun->ranks &&
                       variables.count(kOpenMpi.rank) == 0 && !mpirun->local_ranks;
  auto found = mpirun && !of_srun ? std::move(mpirun) : std::move(srun);
  if (found) {
    check_agrees(*found, variables);
    return found;
  }
  if (variables.count("PMIX_RANK") > 0) {
    throw InvalidArgument(concat(pair("PMIX_RANK", variables), " is set and ", kOpenMpi.ranks,
                                 " is not, so that nobody says how many ranks there are"));
  }
  return read_torchrun(variables);
}

std::string first_node(std::string_view list) {
  std::string name;
  for (std::size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    if (list[at] != '[') {
      name += list[at];
      continue;
    }
    // The first of the numbers, and on behind the bracket.
    const std::size_t end = list.find_first_of("-,]", at);
    name += list.substr(at + 1, end - at - 1);
    at = list.find(']', at);
    if (end == std::string_view::npos || at == std::string_view::npos)
      throw InvalidArgument(concat("SLURM_STEP_NODELIST '", list, "' is not a list of hosts"));
  }
  return name;
}

}  // namespace starling::join
