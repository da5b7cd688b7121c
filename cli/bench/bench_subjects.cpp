#include "cli/bench/bench_subjects.h"

namespace starling::cli {
namespace {

constexpr Peer kPeers[] = {
    {"mpi", find_mpi, start_mpi},
    {"gloo", find_gloo, start_gloo},
};

}  // namespace

std::span<const Peer> peers() { return kPeers; }

}  // namespace starling::cli
