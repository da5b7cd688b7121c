// How the ranks that mpirun, srun or torchrun has started find each other: on one host by a socket whose name
// all can derive, on several through MPI, or at a rendezvous.
#pragma once

#include "starling/join/launcher_detection.h"
#include "starling/join/run_environment.h"

namespace starling::join {

// Fills in the method. The environment has its rank, strategy, options and transport. InvalidArgument that
// says which variable to set, if there is no method.
void choose_join_method(RunEnvironment& environment, const DetectedLauncher& found,
                        const EnvironmentVariables& variables);

}  // namespace starling::join
