// How the ranks that mpirun, srun or torchrun has started find each other: on one host by a socket whose name
// all can tell, on several through MPI, or at a rendezvous.
#pragma once

#include "starling/session/detected.h"
#include "starling/session/standing.h"

namespace starling::session {

// Fills in the way. The standing has its rank, strategy, options and transport. InvalidArgument that says
// what to set, if there is no way.
void find_others(Standing& standing, const Detected& found, const Variables& variables);

}  // namespace starling::session
