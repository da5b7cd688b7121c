#include "starling/join/join_method.h"

#include <unistd.h>

#include "starling/core/error.h"
#include "starling/core/hash.h"
#include "starling/join/rendezvous_address.h"
#include "starling/transport/wire/mpi.h"

namespace starling::join {

namespace {

constexpr const char* kMakeToken = "export STARLING_TOKEN=$(openssl rand -hex 16)";

// The same for all ranks of the job. Not a secret: both sides of the socket check the other's user.
std::string socket_name(const DetectedLauncher& found) {
  const std::string job = concat(found.launcher, "\n", found.job, "\n", found.ranks, "\n", geteuid());
  return concat("starling-", found.launcher, "-", hash_of(std::as_bytes(std::span(job))));
}

// "mpirun: ... has ranks on several hosts"
std::string spread(const DetectedLauncher& found) {
  const char* const what = found.one_host()                            ? " does not tell one job from another"
                           : found.local_ranks || !found.where.empty() ? " has ranks on other hosts"
                                                                       : " does not tell where the ranks are";
  return concat(found.launcher, what, " (", found.names, ")");
}

void meet_at_a_port(RunEnvironment& environment, const DetectedLauncher& found,
                    const EnvironmentVariables& variables) {
  const auto chosen = value_in(variables, kRendezvousVariable);
  environment.rendezvous = chosen.value_or(found.meeting);
  environment.token = value_in(variables, kTokenVariable).value_or("");
  if (environment.rendezvous.empty()) {
    const std::string why = found.launcher == "mpirun" ? transport::wire::why_no_mpi() : "";
    throw InvalidArgument(concat(spread(found), why.empty() ? "" : ", and ", why, "; set ",
                                 kRendezvousVariable, "=HOST:PORT to an address of rank 0's host, and ",
                                 kTokenVariable));
  }
  parse_rendezvous_address(environment.rendezvous, chosen ? kRendezvousVariable : found.launcher);
  if (environment.token.empty()) {
    throw InvalidArgument(concat(spread(found), ", and ", kTokenVariable, " is not set; before ",
                                 found.launcher, ": ", kMakeToken));
  }
}

}  // namespace

void choose_join_method(RunEnvironment& environment, const DetectedLauncher& found,
                        const EnvironmentVariables& variables) {
  const bool mpi_chosen = environment.transport == "mpi";
  if (mpi_chosen && !transport::wire::why_no_mpi().empty())
    throw InvalidArgument(concat("STARLING_TRANSPORT is mpi, and ", transport::wire::why_no_mpi()));
  if (mpi_chosen && !found.has_mpi) {
    throw InvalidArgument(concat("STARLING_TRANSPORT is mpi, which mpirun and srun can start, and ",
                                 found.launcher, " cannot (", found.names, ")"));
  }
  if (found.ranks == 1) return;
  const bool rendezvous = variables.count(kRendezvousVariable) > 0;
  // STARLING_HOST makes several hosts of one, and only its owner knows it.
  const bool here = found.one_host() && !found.job.empty() && variables.count("STARLING_HOST") == 0;
  if (here && !mpi_chosen && !rendezvous) {
    environment.host_socket = socket_name(found);
  } else if (mpi_chosen ||
             (found.launcher == "mpirun" && !rendezvous && transport::wire::why_no_mpi().empty())) {
    environment.through_mpi = true;
  } else {
    meet_at_a_port(environment, found, variables);
  }
}

}  // namespace starling::join
