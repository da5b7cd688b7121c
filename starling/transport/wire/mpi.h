// MPI between hosts, for sites where it is the only way. The process must have been started by mpirun, srun
// or similar; the rank is that of MPI_COMM_WORLD.
//
// MPI cannot wake a waiting process, so its loop polls after short naps. A process that dies ends the whole
// job: that is MPI's rule.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "starling/core/types.h"
#include "starling/transport/wire/engine.h"

namespace starling::transport::wire {

// Why there is no MPI in this build; empty if there is.
std::string why_no_mpi();

// "Open MPI v4.1.4", or empty.
std::string mpi_version();

// MPI is running as long as one of these lives. The first starts it unless the program has done so, and then
// ends it too; but not if it is left by an exception: MPI ends when all processes have come to its end, and
// one of them may be lost. The launcher ends the rest.
class MpiWorld {
 public:
  // Throws Error if MPI does not start, or is not in this build.
  MpiWorld();
  ~MpiWorld();
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;

  Rank rank() const { return rank_; }
  int size() const { return size_; }
  // Returns everybody's text, by rank. Called by all ranks.
  std::vector<std::string> exchange(const std::string& text) const;
  // Keeps an object until MPI has ended, such as memory that MPI may still read.
  void keep(std::shared_ptr<void> what) { kept_.push_back(std::move(what)); }

 private:
  std::vector<std::shared_ptr<void>> kept_;
  Rank rank_ = 0;
  int size_ = 1;
  bool started_ = false;
  int exceptions_ = 0;
};

// The engine of this process's rank. Made by all processes of the world at the same time.
std::unique_ptr<Engine> make_mpi(std::shared_ptr<MpiWorld> world);

}  // namespace starling::transport::wire
