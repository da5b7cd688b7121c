#include "cli/bench/bench_subjects.h"

namespace starling::cli {
namespace {

constexpr Peer kPeers[] = {
    {"mpi", "Open MPI", find_mpi, start_mpi},
    {"gloo", "Gloo", find_gloo, start_gloo},
};

}  // namespace

std::span<const Peer> peers() { return kPeers; }

}  // namespace starling::cli
