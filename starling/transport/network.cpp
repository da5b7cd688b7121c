#include "starling/transport/network.h"

#include <algorithm>
#include <cmath>

namespace starling::transport {

AlphaBeta::State& AlphaBeta::state(Rank from, Rank to) {
  const auto key =
      (static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32) | static_cast<std::uint32_t>(to);
  return links_.try_emplace(key, State{default_, Time{}}).first->second;
}

void AlphaBeta::start(runtime::Scheduler& scheduler, Transfer& transfer) {
  State& link = state(transfer.from, transfer.to);
  const double seconds = static_cast<double>(transfer.bytes) * link.link.seconds_per_byte;
  link.free = std::max(link.free, scheduler.now()) + Duration(std::llround(seconds * 1e9));
  scheduler.at(link.free + link.link.alpha, transfer);
}

}  // namespace starling::transport
