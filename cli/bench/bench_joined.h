// The benchmark of the collectives in processes that another launcher has started, maybe on several hosts:
// each of them is a rank, and all go through the measurements in step.
#pragma once

#include <memory>
#include <string>

#include "cli/bench/bench_options.h"
#include "cli/peers/obey.h"

namespace starling::cli {

// How many were started with this one, itself included.
int ranks_started();

// Rank 0 prints and writes the report. InvalidArgument if other numbers of ranks were asked for, or peers
// that cannot be in these processes.
void run_joined_bench(const BenchOptions& options);

// MPI in these very processes, if mpirun or similar has started them: both are then measured on the same
// wires in turns. Null if there is no MPI here, with the reason in `why`.
std::unique_ptr<BenchWorker> make_mpi_worker(std::string& why);

}  // namespace starling::cli
