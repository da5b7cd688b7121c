#include "starling/transport/transport.h"

#include <algorithm>
#include <cassert>
#include <new>

#include "starling/core/error.h"

namespace starling::transport {

Transport::Transport(runtime::Scheduler& scheduler, Rank rank, int size)
    : scheduler_(scheduler), rank_(rank), size_(size) {}

void Transport::begin(Sending& sending) {
  check_rank(sending.peer(), "send to");
  if (sending.ghost() && !carries_ghosts()) refuse_ghost(sending, "send to");
  ++traffic_.messages;
  traffic_.bytes += sending.bytes();
  start_send(sending);
}

void Transport::begin(Inbound& receiving) {
  if (receiving.ghost() && !carries_ghosts()) refuse_ghost(receiving, "receive from");
  start_recv(receiving);
}

void Transport::refuse_ghost(const Operation& operation, std::string_view what) const {
  throw InvalidArgument(concat(what, " rank ", operation.peer(), ": message ", operation.tag(), " of ",
                               operation.bytes(),
                               " bytes has a size and no memory; only simulated ranks exchange such"));
}

Rank Transport::check_rank(Rank rank, std::string_view what) const {
  if (rank >= 0 && rank < size()) return rank;
  throw InvalidArgument(concat(what, " rank ", rank, ": there are ranks 0 to ", size() - 1));
}

Memory Transport::allocate(std::size_t bytes) {
  constexpr std::align_val_t kAlignment{64};
  auto* data = static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes, 1), kAlignment));
  std::shared_ptr<void> owner(data, [](void* memory) { ::operator delete(memory, kAlignment); });
  return {{data, bytes}, std::move(owner)};
}

void Transport::arrive(Sending&) { assert(!"this transport hands nothing to a Network"); }

bool Transport::record_loss(Rank rank, std::string why) {
  if (lost(rank)) return false;
  why_lost_[rank] = why.empty() ? "no reason given" : std::move(why);
  losses_.pulse();
  return true;
}

std::exception_ptr Transport::loss_of(Rank rank) const {
  return std::make_exception_ptr(PeerLost(rank, why_lost(rank)));
}

std::exception_ptr Transport::hopeless(const Inbound& receiving) const {
  if (receiving.peer() != kAnyRank) return lost(receiving.peer()) ? loss_of(receiving.peer()) : nullptr;
  const std::size_t others_lost = why_lost_.size() - (lost(rank_) ? 1 : 0);
  if (size_ == 1 || others_lost + 1 < static_cast<std::size_t>(size_)) return nullptr;
  return loss_of(rank_ == 0 ? size_ - 1 : 0);
}

}  // namespace starling::transport
