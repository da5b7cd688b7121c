#include "starling/transport/shm/shm.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "starling/core/cpu.h"
#include "starling/core/error.h"

namespace starling::transport {

using shm::Offer;
using shm::Presence;
using shm::Record;

// A message in the sender's memory. Taking it and withdrawing it race; the offer's word decides.
class ShmTransport::OfferArrival final : public Arrival {
 public:
  OfferArrival(ShmTransport& net, Rank from, const Record& record)
      : Arrival(from, record.tag, record.bytes), net_(net), record_(record) {}

  bool read(std::span<std::byte> target) override {
    return take([&] {
      if (target.data() != expected_) copy_to(target);
    });
  }
  void expect(std::span<std::byte> target) override {
    if (target.data() == expected_) return;
    expected_ = target.data();
    if (!target.empty()) copy_to(target);
  }
  void discard() override {
    take([] {});
  }

 private:
  void copy_to(std::span<std::byte> target) const {
    std::memcpy(target.data(), net_.arena_->at(record_.offset), target.size());
  }
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
  const std::byte* expected_ = nullptr;  // where it has been copied to
};

ShmTransport::ShmTransport(runtime::LoopScheduler& loop, std::shared_ptr<shm::Arena> arena, Rank rank,
                           int size)
    : Transport(loop, rank, size),
      loop_(loop),
      arena_(std::move(arena)),
      heap_(std::make_shared<shm::Heap>(arena_, rank)),
      common_memory_(arena_, *this),
      obituary_(arena_, rank, loop),
      stall_watch_(arena_, rank, loop),
      backlog_(static_cast<std::size_t>(arena_->ranks())),
      cores_(usable_cores()) {}

ShmTransport::ShmTransport(runtime::LoopScheduler& loop, const std::shared_ptr<shm::Arena>& arena, Rank rank,
                           const std::optional<Link>& link)
    : ShmTransport(loop, arena, rank, arena->ranks()) {
  if (link) emulate(*link);
  begin();
}

ShmTransport::ShmTransport(runtime::LoopScheduler& loop, const std::shared_ptr<shm::Arena>& arena, Rank rank,
                           int size, wire::Remote::Options others)
    : ShmTransport(loop, arena, rank, size) {
  name_ = concat(arena_->ranks() > 1 ? "shm+" : "", others.engine->name());
  remote_ = std::make_unique<wire::Remote>(
      loop_, matcher_, std::move(others), [this](Rank peer, wire::Remote::News news, const std::string& why) {
        handle_evidence(peer, news, why);
      });
  begin();
}

void ShmTransport::begin() {
  if (!arena_->claim(rank(), identity_of(getpid()))) {
    throw Error(concat("rank ", rank(), " of this run is process ", arena_->process(rank()).pid(),
                       " already; has the launched program started itself twice?"));
  }
  for (std::uint32_t i = shm::kOffers; i > 0; --i) free_offers_.push_back(i - 1);
  loop_.add(*this);
  loop_.watch(arena_->doorbell(rank()), [this] {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(arena_->doorbell(this->rank()), &count, sizeof count);
  });
  arena_->enter(rank());
  handle_changes();
}

// Without a limit it does not beat: nobody judges it, and it judges nobody.
void ShmTransport::begin_beating(std::optional<Duration> stall_limit) {
  if (stall_limit) stall_watch_.begin(*stall_limit);
}

ShmTransport::~ShmTransport() {
  stall_watch_.end();
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

void ShmTransport::start_recv(Inbound& receiving) {
  if (matcher_.post(receiving)) return;
  if (const std::exception_ptr error = hopeless(receiving)) return receiving.fail(error);
  if (gate_) loop_.soon(fetching_);
}

// The message for `to` is in the pipe. The order of the two sequentially consistent operations here and of
// those in set_parked and poll makes it safe to ring only parked ranks.
void ShmTransport::notify(Rank to) {
  const auto self = arena_->index(rank());
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
  any |= look_at_watches();
  // Last: before parking it makes sure that it will be woken, unless there is news.
  if (remote_) any |= remote_->poll();
  return any;
}

void ShmTransport::set_parked(bool parked) {
  arena_->slot(rank()).parked.store(parked ? 1 : 0);
  if (remote_) remote_->set_parked(parked);
}

// Counts the ranks that are not parked, up to the number of cores.
int ShmTransport::running_ranks() const {
  int running = 0;
  for (const Rank other : arena_->members()) {
    if (running > cores_) break;
    if (arena_->slot(other).parked.load(std::memory_order_relaxed) == 0 && !lost(other)) ++running;
  }
  return running;
}

int ShmTransport::idle_cores() const { return std::max(0, cores_ - running_ranks()); }

bool ShmTransport::drain_inbox() {
  bool any = false;
  auto& slot = arena_->slot(rank());
  for (int word = 0; word * 64 < arena_->ranks(); ++word) {
    if (slot.inbox[word].load() == 0) continue;
    std::uint64_t bits = slot.inbox[word].exchange(0);
    any |= bits != 0;
    for (; bits != 0; bits &= bits - 1) {
      const int place = word * 64 + std::countr_zero(bits);
      drain(arena_->members()[static_cast<std::size_t>(place)]);
    }
  }
  return any;
}

void ShmTransport::drain(Rank from) {
  shm::Pipe& pipe = arena_->pipe(from, rank());
  while (const auto front = shm::front_record(pipe)) {
    take_in(from, *front);
    shm::pop_record(pipe, *front);
  }
  if (pipe.sender_waits.exchange(0) != 0) nudge(from);
}

void ShmTransport::take_in(Rank from, const shm::Front& front) {
  const Record& record = front.record;
  std::unique_ptr<Arrival> arrival;
  if (record.kind == Record::kOffer) {
    arrival = std::make_unique<OfferArrival>(*this, from, record);
  } else if (Inbound* receiving = gate_ ? nullptr : matcher_.find(from, record.tag)) {
    return hand_over(from, front.payload, *receiving);
  } else {
    arrival = std::make_unique<KeptArrival>(from, record.tag, front.payload);
  }
  if (!gate_) return matcher_.deliver(std::move(arrival));
  gate_->in.take(std::move(arrival), Time(Duration(record.arrives) - loop_.start().time_since_epoch()));
  loop_.soon(fetching_);
}

void ShmTransport::handle_changes() {
  changes_seen_ = arena_->header().changes.load();
  obituary_.update();
  for (const Rank other : arena_->members()) {
    if (other == rank() || lost(other) || !arena_->gone(other)) continue;
    if (!gate_) {
      handle_end(other);
    } else {
      drain(other);
      gate_->in.take_end(other);
    }
  }
}

// Messages that it sent before its end still count.
void ShmTransport::handle_end(Rank other) {
  drain(other);
  if (!judged(other)) return handle_loss(other, why_gone(other));
  if (reported_.insert(other).second) judge().suspect(other, Judge::Evidence::kEnded, why_gone(other));
}

// The judge may know of an end before this rank has looked: what was sent before it counts here too.
void ShmTransport::exclude(Rank other, const std::string& why) {
  if (lost(other)) return;
  if (!arena_->has(other)) return handle_remote_loss(other, why);
  if (!gate_) drain(other);
  handle_loss(other, why);
}

void ShmTransport::handle_loss(Rank other, const std::string& why) {
  record_loss(other, why);
  if (gate_) gate_->out.fail(other, loss_of(other));
  matcher_.fail_if([&](const Inbound& receiving) { return hopeless(receiving); });
  auto& backlog = backlog_[arena_->index(other)];
  while (!backlog.empty()) static_cast<Sending&>(backlog.front()).fail(loss_of(other));
  for (auto at = offered_.begin(); at != offered_.end();) {
    if (at->second.to != other) {
      ++at;
      continue;
    }
    Sending* const sending = at->second.sending;
    if (sending != nullptr && !sending->done()) sending->fail(loss_of(other));
    staged_bytes_ -= at->second.staged.bytes.size();
    free_offers_.push_back(at->first);
    at = offered_.erase(at);
  }
}

std::string ShmTransport::why_gone(Rank other) const {
  if (!arena_->died(other)) return "it left the run";
  const std::string reason = stall_watch_.reason(other);
  return reason.empty() ? "its process ended" : reason;
}

void ShmTransport::handle_evidence(Rank other, wire::Remote::News news, const std::string& why) {
  using News = wire::Remote::News;
  if (news == News::kHeardAgain) {
    if (judged(other)) judge().hear_again(other);
    return;
  }
  if (!judged(other)) return handle_remote_loss(other, why);
  const auto evidence = news == News::kLeft     ? Judge::Evidence::kEnded
                        : news == News::kBroken ? Judge::Evidence::kUnreachable
                                                : Judge::Evidence::kSilent;
  judge().suspect(other, evidence, why);
}

void ShmTransport::handle_remote_loss(Rank other, const std::string& why) {
  record_loss(other, why);
  remote_->drop(other, loss_of(other));
  matcher_.fail_if([&](const Inbound& receiving) { return hopeless(receiving); });
}

}  // namespace starling::transport
