// The benchmark of the collectives in processes that somebody else has started, maybe on several hosts: each
// of them is a rank, and all go through the measurements in step.
#pragma once

#include <memory>
#include <string>

#include "cli/bench_options.h"
#include "cli/peers/serve.h"

namespace starling::cli {

// Whether this process was started as one of several ranks.
bool started_as_rank();

// Rank 0 prints and writes the report.
void run_joined_bench(const BenchOptions& options);

// MPI in these very processes, which mpirun or the like has started: then both are measured on the same
// wires in turns. Null if there is no MPI here, with the reason in `why`.
std::unique_ptr<Worker> make_mpi_worker(std::string& why);

}  // namespace starling::cli
