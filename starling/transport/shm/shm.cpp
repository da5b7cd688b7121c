#include "starling/transport/shm/shm.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "starling/core/cpu.h"
#include "starling/core/error.h"
#include "starling/transport/shm/pipe.h"

namespace starling::transport {

using shm::Offer;
using shm::Presence;
using shm::Record;

namespace {

// Copies of large messages that receivers have not fetched yet; beyond this, further sends wait.
constexpr std::size_t kStagingLimit = std::size_t{256} << 20;

}  // namespace

// A message in the sender's memory. Taking it and withdrawing it race; the offer's word decides.
class ShmTransport::OfferArrival final : public Arrival {
 public:
  OfferArrival(ShmTransport& net, Rank from, const Record& record)
      : Arrival(from, record.tag, record.bytes), net_(net), record_(record) {}

  bool read(std::span<std::byte> target) override {
    return take([&] { std::memcpy(target.data(), net_.arena_->at(record_.offset), target.size()); });
  }
  void discard() override {
    take([] {});
  }

 private:
  template <class Copy>
  bool take(Copy copy) {
    auto& word = net_.arena_->offer(from(), record_.offer).word;
    std::uint64_t expected = Offer::make(record_.serial, Offer::kOpen);
    if (!word.compare_exchange_strong(expected, Offer::make(record_.serial, Offer::kTaken))) return false;
    copy();
    expected = Offer::make(record_.serial, Offer::kTaken);
    if (!word.compare_exchange_strong(expected, Offer::make(record_.serial, Offer::kDone))) return false;
    net_.nudge(from());
    return true;
  }

  ShmTransport& net_;
  Record record_;
};

ShmTransport::ShmTransport(runtime::LoopScheduler& loop, std::shared_ptr<shm::Arena> arena, Rank rank)
    : Transport(loop, rank, arena->ranks()),
      loop_(loop),
      arena_(std::move(arena)),
      heap_(std::make_shared<shm::Heap>(arena_, rank)),
      obituary_(arena_, rank, loop),
      backlog_(static_cast<std::size_t>(arena_->ranks())),
      cores_(usable_cores()) {
  for (std::uint64_t i = shm::kOffers; i > 0; --i) free_offers_.push_back(i - 1);
  loop_.add(*this);
  loop_.watch(arena_->doorbell(rank), [this] {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(arena_->doorbell(this->rank()), &count, sizeof count);
  });
  arena_->introduce(rank, getpid());
  handle_changes();
}

ShmTransport::~ShmTransport() {
  heap_->close();
  arena_->bury(rank(), Presence::kLeft);
  loop_.unwatch(arena_->doorbell(rank()));
  loop_.remove(*this);
}

Memory ShmTransport::allocate(std::size_t bytes) {
  const std::span<std::byte> memory = heap_->allocate(bytes);
  std::shared_ptr<void> owner(memory.data(), [heap = heap_, memory](void*) { heap->release(memory); });
  return {memory, std::move(owner)};
}

void ShmTransport::start_send(Sending& sending) {
  const Rank to = sending.peer();
  if (lost(to)) return sending.fail(loss_of(to));
  if (to == rank()) {
    matcher_.deliver(std::make_unique<KeptArrival>(to, sending.tag(), sending.data()));
    return sending.complete();
  }
  auto& backlog = backlog_[static_cast<std::size_t>(to)];
  if (backlog.empty() && transmit(sending)) return;
  backlog.push_back(sending);
  flush(to);
}

// False if there is no room now.
bool ShmTransport::transmit(Sending& sending) {
  if (sending.bytes() > shm::kInlineLimit) return transmit_offer(sending);
  const Record record{Record::kInline, sending.tag(), sending.bytes(), 0, 0, 0};
  if (!shm::write_record(arena_->pipe(rank(), sending.peer()), record, sending.data())) return false;
  notify(sending.peer());
  sending.complete();
  return true;
}

bool ShmTransport::transmit_offer(Sending& sending) {
  shm::Pipe& pipe = arena_->pipe(rank(), sending.peer());
  if (free_offers_.empty() || !shm::has_room(pipe, 0)) return false;
  Offered offered{&sending, sending.peer(), next_serial_, {}};
  auto offset = arena_->offset_of(sending.data());
  if (!offset) {
    if (staged_bytes_ > 0 && staged_bytes_ + sending.bytes() > kStagingLimit) return false;
    offered.staged = allocate(sending.bytes());
    std::memcpy(offered.staged.bytes.data(), sending.data().data(), sending.bytes());
    offered.sending = nullptr;
    offset = arena_->offset_of(offered.staged.bytes);
  }
  const std::uint64_t number = free_offers_.back();
  const Record record{Record::kOffer, sending.tag(), sending.bytes(), *offset, number, offered.serial};
  arena_->offer(rank(), number).word.store(Offer::make(offered.serial, Offer::kOpen));
  shm::write_record(pipe, record, {});
  free_offers_.pop_back();
  ++next_serial_;
  notify(sending.peer());
  staged_bytes_ += offered.staged.bytes.size();
  const bool staged = offered.sending == nullptr;
  sending.ticket = number;
  offered_.emplace(number, std::move(offered));
  sending.unlink();
  if (staged) sending.complete();
  return true;
}

// A withdrawn offer's serial is never used again, so the record that may still lie in the pipe names nothing.
void ShmTransport::withdraw_send(Sending& sending) noexcept {
  sending.unlink();
  const auto found = offered_.find(sending.ticket);
  if (found == offered_.end() || found->second.sending != &sending) return;
  arena_->offer(rank(), found->first).word.store(Offer::make(found->second.serial, Offer::kWithdrawn));
  free_offers_.push_back(found->first);
  offered_.erase(found);
}

void ShmTransport::start_recv(Inbound& receiving) {
  if (matcher_.post(receiving)) return;
  if (const std::exception_ptr error = hopeless(receiving)) receiving.fail(error);
}

// News for `to` is in the pipe. The order of the two sequentially consistent operations here and of those in
// set_parked and poll is what makes ringing only the parked safe.
void ShmTransport::notify(Rank to) {
  const auto self = static_cast<unsigned>(rank());
  arena_->slot(to).inbox[self / 64].fetch_or(std::uint64_t{1} << (self % 64));
  arena_->ring(to);
}

void ShmTransport::nudge(Rank to) {
  arena_->slot(to).nudges.fetch_add(1);
  arena_->ring(to);
}

bool ShmTransport::poll() {
  bool any = drain_inbox();
  if (arena_->slot(rank()).nudges.load() != nudges_seen_) {
    handle_nudges();
    any = true;
  }
  if (arena_->header().changes.load() != changes_seen_) {
    handle_changes();
    any = true;
  }
  return look_at_watches() || any;
}

void ShmTransport::set_parked(bool parked) { arena_->slot(rank()).parked.store(parked ? 1 : 0); }

// Those that are not parked. More than there are cores are not counted.
int ShmTransport::running_ranks() const {
  int running = 0;
  for (Rank other = 0; other < size() && running <= cores_; ++other) {
    if (arena_->slot(other).parked.load(std::memory_order_relaxed) == 0 && !lost(other)) ++running;
  }
  return running;
}

int ShmTransport::idle_cores() const { return std::max(0, cores_ - running_ranks()); }

bool ShmTransport::drain_inbox() {
  bool any = false;
  auto& slot = arena_->slot(rank());
  for (int word = 0; word * 64 < size(); ++word) {
    if (slot.inbox[word].load() == 0) continue;
    std::uint64_t bits = slot.inbox[word].exchange(0);
    any |= bits != 0;
    for (; bits != 0; bits &= bits - 1) drain(word * 64 + std::countr_zero(bits));
  }
  return any;
}

void ShmTransport::drain(Rank from) {
  shm::Pipe& pipe = arena_->pipe(from, rank());
  while (const auto front = shm::front_record(pipe)) {
    const Record& record = front->record;
    if (record.kind == Record::kOffer) {
      matcher_.deliver(std::make_unique<OfferArrival>(*this, from, record));
    } else if (Inbound* receiving = matcher_.find(from, record.tag)) {
      hand_over(from, front->payload, *receiving);
    } else {
      matcher_.deliver(std::make_unique<KeptArrival>(from, record.tag, front->payload));
    }
    shm::pop_record(pipe, *front);
  }
  if (pipe.sender_waits.exchange(0) != 0) nudge(from);
}

// Receivers have finished with offers or made room in pipes.
void ShmTransport::handle_nudges() {
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
  for (Rank to = 0; to < size(); ++to) flush(to);
}

void ShmTransport::flush(Rank to) {
  auto& backlog = backlog_[static_cast<std::size_t>(to)];
  while (!backlog.empty()) {
    if (transmit(static_cast<Sending&>(backlog.front()))) continue;
    // Ask for a nudge, then look again: the receiver may have made room before it could see the question.
    if (arena_->pipe(rank(), to).sender_waits.exchange(1) != 0) return;
  }
}

void ShmTransport::handle_changes() {
  changes_seen_ = arena_->header().changes.load();
  obituary_.update();
  for (Rank other = 0; other < size(); ++other) {
    if (other != rank() && !lost(other) && arena_->gone(other)) handle_loss(other);
  }
}

void ShmTransport::handle_loss(Rank other) {
  drain(other);  // what it had sent before it ended still counts
  const bool left = arena_->slot(other).presence.load() == Presence::kLeft;
  record_loss(other, left ? "it left the run" : "its process ended");
  matcher_.fail_if([&](const Inbound& receiving) { return hopeless(receiving); });
  auto& backlog = backlog_[static_cast<std::size_t>(other)];
  while (!backlog.empty()) static_cast<Sending&>(backlog.front()).fail(loss_of(other));
  for (auto at = offered_.begin(); at != offered_.end();) {
    if (at->second.to != other) {
      ++at;
      continue;
    }
    if (at->second.sending != nullptr) at->second.sending->fail(loss_of(other));
    staged_bytes_ -= at->second.staged.bytes.size();
    free_offers_.push_back(at->first);
    at = offered_.erase(at);
  }
}

}  // namespace starling::transport
