// The part of the shared-memory transport that emulates a link.
#include <sys/prctl.h>

#include <utility>

#include "starling/core/error.h"
#include "starling/transport/shm/shm.h"

namespace starling::transport {

void ShmTransport::emulate(const Link& link) {
  prctl(PR_SET_TIMERSLACK, 1);  // nanoseconds; else the kernel may end a wait 50 us late
  const auto begins = [this](Sending& sending) { begin_to_leave(sending); };
  const auto left = [this](Sending& sending) { leave(sending); };
  const auto deliver = [this](std::unique_ptr<Arrival> arrival) { matcher_.deliver(std::move(arrival)); };
  const auto lose = [this](Rank lost) { handle_end(lost); };
  gate_ = std::make_unique<shm::LinkGate>(loop_, link, begins, left, deliver, lose);
}

// A large message is offered when it begins to leave, with the time of its arrival. So both ends copy it
// while it is in flight, and the processor's time is not added to the link's. If there is no room for that
// yet, it is offered when it has left.
void ShmTransport::begin_to_leave(Sending& sending) {
  if (sending.bytes() <= shm::kInlineLimit) return;
  if (!backlog_[arena_->index(sending.peer())].empty()) return;
  try {
    offer(sending);
  } catch (const Error&) {  // no memory now
  }
}

void ShmTransport::leave(Sending& sending) {
  try {
    if (offer_of(sending) == nullptr) return put(sending);
    offer_of(sending)->sending = nullptr;
    sending.complete();
  } catch (const Error&) {
    sending.fail(std::current_exception());
  }
}

// Copies messages that are coming in to where they are expected.
void ShmTransport::fetch_ahead() {
  gate_->in.for_each([this](Arrival& arrival) {
    if (arrival.bytes() <= shm::kInlineLimit) return;
    Inbound* const receiving = matcher_.find(arrival.from(), arrival.tag());
    if (receiving == nullptr || receiving->peer() != arrival.from()) return;
    if (receiving->bytes() != arrival.bytes()) return;
    if (gate_->in.next_of(arrival.from(), arrival.tag()) != &arrival) return;
    arrival.expect(receiving->room(arrival.from(), arrival.bytes(), false));
  });
}

std::int64_t ShmTransport::stamp(const Sending& sending) const {
  return (loop_.start().time_since_epoch() + sending.flight.arrives.time_since_epoch()).count();
}

// Expects the message anew: from now on the buffer may belong to something else.
void ShmTransport::withdraw_recv(Inbound& receiving) noexcept {
  if (remote_ && !receiving.linked()) return remote_->withdraw_recv(receiving);
  receiving.unlink();
  Arrival* const next = gate_ ? gate_->in.next_of(receiving.peer(), receiving.tag()) : nullptr;
  if (next != nullptr) next->expect({});
}

}  // namespace starling::transport
