#include <unistd.h>

#include <csignal>

#include "cli/bench/bench_subjects.h"
#include "cli/common/captured_process.h"
#include "cli/common/find_program.h"

namespace starling::cli {

Availability find_mpi() {
  const std::optional<std::string> mpirun = find_program("mpirun");
  if (!mpirun) return {false, "no mpirun in PATH", {}};
  constexpr std::string_view kPeer = "starling-mpi-peer";
  const std::optional<std::string> peer = find_own_file(kPeer);
  if (!peer) return {false, concat("no ", kPeer, " beside this program: it was built without MPI"), {}};
  return {true, concat(*mpirun, " with ", *peer), {*mpirun, *peer}};
}

std::unique_ptr<BenchSubject> start_mpi(int ranks, const Availability& found) {
  return std::make_unique<BenchSubject>("mpi", ranks, [&](const std::string& address) {
    // More ranks than cores are to be measured; no subject's ranks are bound to cores.
    std::vector<std::string> command{found.command.at(0), "-n",        std::to_string(ranks),
                                     "--oversubscribe",   "--bind-to", "none"};
    if (geteuid() == 0) command.emplace_back("--allow-run-as-root");
    command.push_back(found.command.at(1));
    command.push_back(address);
    // At SIGTERM mpirun ends its ranks, which are not in its process group, and removes its files.
    return std::make_unique<CapturedProcess>(command, CapturedProcess::Options{.end_signal = SIGTERM});
  });
}

}  // namespace starling::cli
