// In place of mpi.cpp where MPI was not found.
#include "starling/core/error.h"
#include "starling/transport/wire/mpi.h"

namespace starling::transport::wire {

std::string why_no_mpi() { return "MPI (libopenmpi-dev) was not found when Starling was built"; }

std::string mpi_version() { return ""; }

MpiWorld::MpiWorld() { throw Error(concat("transport mpi: ", why_no_mpi())); }

MpiWorld::~MpiWorld() = default;

std::vector<std::string> MpiWorld::exchange(const std::string& text) const { return {text}; }

std::unique_ptr<Engine> make_mpi(std::shared_ptr<MpiWorld>) {
  throw Error(concat("transport mpi: ", why_no_mpi()));
}

}  // namespace starling::transport::wire
