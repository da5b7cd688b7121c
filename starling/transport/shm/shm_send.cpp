// The sender's side of shared memory.
#include <cstring>
#include <utility>

#include "starling/core/error.h"
#include "starling/transport/shm/shm.h"

namespace starling::transport {

using shm::Offer;
using shm::Record;

namespace {

// Copies of large messages that receivers have not fetched yet; beyond this, further sends wait.
constexpr std::size_t kStagingLimit = std::size_t{256} << 20;

}  // namespace

void ShmTransport::start_send(Sending& sending) {
  const Rank to = sending.peer();
  if (lost(to)) return sending.fail(loss_of(to));
  if (to == rank()) {
    matcher_.deliver(std::make_unique<KeptArrival>(to, sending.tag(), sending.data()));
    return sending.complete();
  }
  if (!arena_->has(to)) return remote_->start_send(sending);
  if (gate_) return gate_->out.send(sending);
  put(sending);
}

void ShmTransport::put(Sending& sending) {
  auto& backlog = backlog_[arena_->index(sending.peer())];
  if (backlog.empty() && transmit(sending)) return;
  backlog.push_back(sending);
  flush(sending.peer());
}

// False if there is no room now.
bool ShmTransport::transmit(Sending& sending) {
  if (sending.bytes() > shm::kInlineLimit) {
    if (!offer(sending)) return false;
    Offered& offered = *offer_of(sending);
    if (offered.staged.bytes.empty()) return true;
    offered.sending = nullptr;
    sending.complete();
    return true;
  }
  const Record record{Record::kInline, 0, sending.tag(), sending.bytes(), stamp(sending), 0, 0};
  if (!shm::write_record(arena_->pipe(rank(), sending.peer()), record, sending.data())) return false;
  notify(sending.peer());
  sending.complete();
  return true;
}

// Does not decide whether the send is done. On an emulated link the send is done long before the message is
// read, so the message is always staged.
bool ShmTransport::offer(Sending& sending) {
  shm::Pipe& pipe = arena_->pipe(rank(), sending.peer());
  if (free_offers_.empty() || !shm::has_room(pipe, 0)) return false;
  Offered offered{&sending, sending.peer(), next_serial_, {}};
  auto offset = arena_->offset_of(sending.data());
  if (!offset || gate_) {
    if (staged_bytes_ > 0 && staged_bytes_ + sending.bytes() > kStagingLimit) return false;
    offered.staged = allocate(sending.bytes());
    std::memcpy(offered.staged.bytes.data(), sending.data().data(), sending.bytes());
    offset = arena_->offset_of(offered.staged.bytes);
  }
  const std::uint32_t number = free_offers_.back();
  const Record record{Record::kOffer, number,  sending.tag(), sending.bytes(),
                      stamp(sending), *offset, offered.serial};
  arena_->offer(rank(), number).word.store(Offer::make(offered.serial, Offer::kOpen));
  shm::write_record(pipe, record, {});
  free_offers_.pop_back();
  ++next_serial_;
  notify(sending.peer());
  staged_bytes_ += offered.staged.bytes.size();
  sending.ticket = number;
  offered_.emplace(number, std::move(offered));
  sending.unlink();
  return true;
}

// Null if it is not offered, or done.
ShmTransport::Offered* ShmTransport::offer_of(const Sending& sending) {
  const auto found = offered_.find(static_cast<std::uint32_t>(sending.ticket));
  return found == offered_.end() || found->second.sending != &sending ? nullptr : &found->second;
}

// A withdrawn offer's serial is never used again, so the record that may still be in the pipe refers to
// nothing.
void ShmTransport::withdraw_send(Sending& sending) noexcept {
  if (!arena_->has(sending.peer())) return remote_->withdraw_send(sending);
  sending.unlink();
  if (gate_) gate_->out.withdraw(sending);
  const Offered* const offered = offer_of(sending);
  if (offered == nullptr) return;
  const auto number = static_cast<std::uint32_t>(sending.ticket);
  arena_->offer(rank(), number).word.store(Offer::make(offered->serial, Offer::kWithdrawn));
  staged_bytes_ -= offered->staged.bytes.size();
  free_offers_.push_back(number);
  offered_.erase(number);
}

// Receivers have finished with offers or made room in pipes.
void ShmTransport::handle_nudges() {
  if (gate_) gate_->out.let_go();  // a message that its receiver has must have left
  nudges_seen_ = arena_->slot(rank()).nudges.load();
  for (auto at = offered_.begin(); at != offered_.end();) {
    Offered& offered = at->second;
    if (arena_->offer(rank(), at->first).word.load() != Offer::make(offered.serial, Offer::kDone)) {
      ++at;
      continue;
    }
    if (offered.sending != nullptr) offered.sending->complete();
    staged_bytes_ -= offered.staged.bytes.size();
    free_offers_.push_back(at->first);
    at = offered_.erase(at);
  }
  for (const Rank to : arena_->members()) flush(to);
}

void ShmTransport::flush(Rank to) {
  auto& backlog = backlog_[arena_->index(to)];
  while (!backlog.empty()) {
    if (transmit(static_cast<Sending&>(backlog.front()))) continue;
    // Ask for a nudge, then look again: the receiver may have made room before it could see the question.
    if (arena_->pipe(rank(), to).sender_waits.exchange(1) != 0) return;
  }
}

}  // namespace starling::transport
