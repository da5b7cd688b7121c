// One rank of the benchmark's MPI subject: mpirun -n N starling-mpi-peer ADDRESS
#include <sys/prctl.h>

#include <csignal>
#include <cstdio>

#include "cli/peers/mpi_worker.h"

int main(int argc, char** argv) {
  // mpirun gives each rank a process group of its own: only this ends a rank when mpirun is killed.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc != 2) {
    std::fputs("usage: starling-mpi-peer ADDRESS (started by `starling bench collectives`)\n", stderr);
    return 2;
  }
  MPI_Init(&argc, &argv);
  int code = 0;
  try {
    starling::cli::MpiWorker worker;
    starling::cli::obey(argv[1], worker.rank(), worker);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "starling-mpi-peer: %s\n", error.what());
    code = 1;
  }
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
  MPI_Finalize();
  return code;
}
