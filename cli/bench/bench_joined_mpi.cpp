#include "cli/bench/bench_joined.h"

#ifdef STARLING_HAS_MPI
#include "cli/peers/mpi_worker.h"
#include "starling/join/launcher_detection.h"
#include "starling/transport/wire/mpi.h"
#endif

namespace starling::cli {

#ifdef STARLING_HAS_MPI

namespace {

class WorldWorker final : public BenchWorker {
 public:
  void prepare(const Job& job) override { worker_.prepare(job); }
  double time(const Job& job, int iterations) override { return worker_.time(job, iterations); }

 private:
  transport::wire::MpiWorld world_;  // before its users
  MpiWorker worker_;
};

}  // namespace

std::unique_ptr<BenchWorker> make_mpi_worker(std::string& why) {
  const auto found = join::detect_launcher(join::process_environment());
  if (!found || found->launcher != "mpirun") {
    why = "these processes were not started by mpirun";
    return nullptr;
  }
  return std::make_unique<WorldWorker>();
}

#else

std::unique_ptr<BenchWorker> make_mpi_worker(std::string& why) {
  why = "this program was built without MPI";
  return nullptr;
}

#endif

}  // namespace starling::cli
