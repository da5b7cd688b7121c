#include "starling/session/exit_barrier.h"

#include <deque>

#include "starling/core/error.h"

namespace starling::session {

using runtime::Task;
using transport::Transport;

namespace {

constexpr Tag kDone = (Tag{0xff} << 56) | 2;

}  // namespace

// Every rank informs every other, so that no rank has to count.
Task<> exit_barrier(Transport& net) {
  std::deque<transport::Sending> told;
  for (Rank rank = 0; rank < net.size(); ++rank) {
    if (rank != net.rank()) told.emplace_back(net, rank, kDone, std::span<const std::byte>{});
  }
  for (transport::Sending& sending : told) {
    try {
      co_await sending;
      co_await net.recv(sending.peer(), kDone, {}, transport::Idle::kYes);  // it may train for hours yet
    } catch (const PeerLost&) {
    }
  }
}

}  // namespace starling::session
