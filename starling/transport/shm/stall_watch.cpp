#include "starling/transport/shm/stall_watch.h"

#include <signal.h>

#include <cstring>
#include <utility>

#include "starling/core/error.h"

namespace starling::transport::shm {

namespace {

constexpr int kLooks = 10;  // per limit

}  // namespace

StallWatch::StallWatch(std::shared_ptr<Arena> arena, Rank self, runtime::LoopScheduler& loop)
    : arena_(std::move(arena)), self_(self), loop_(loop), seen_(static_cast<std::size_t>(arena_->ranks())) {}

void StallWatch::begin(Duration limit) {
  std::int64_t unset = 0;
  arena_->header().stall_limit.compare_exchange_strong(unset, limit.count());
  beating_ = true;
  arena_->slot(self_).beats.store(++beats_);
  loop_.at(next_look_, alarm_);
}

void StallWatch::end() {
  beating_ = false;
  alarm_.cancel();
  arena_->slot(self_).beats.store(0);
}

std::string StallWatch::reason(Rank rank) const {
  const std::uint32_t by = arena_->slot(rank).ended_by.load();
  if (by == 0) return {};
  return concat("it stood still for ", format_duration(limit()), ", and rank ", by - 1, " ended it");
}

void StallWatch::look() {
  if (!beating_) return;
  arena_->slot(self_).beats.store(++beats_);
  if (evicted(arena_->header().eviction.load()) == self_) accept_own_eviction();
  for (const Rank rank : arena_->members()) {
    if (rank != self_ && stands_still(rank)) evict(rank);
  }
  next_look_ = loop_.now() + limit() / kLooks;
  loop_.at(next_look_, alarm_);
}

bool StallWatch::stands_still(Rank rank) {
  Seen& seen = seen_[arena_->index(rank)];
  const std::uint64_t beats = arena_->slot(rank).beats.load();
  if (beats == 0 || beats != seen.beats || arena_->gone(rank)) {
    seen = {.beats = beats};
    return false;
  }
  return ++seen.looks >= kLooks && !seen.spared;
}

// The word stays until the process has ended, which all ranks learn from the kernel, or its loop rests.
void StallWatch::evict(Rank rank) {
  auto& eviction = arena_->header().eviction;
  std::uint64_t seen = eviction.load();
  if (seen != 0 && (arena_->gone(evicted(seen)) || arena_->slot(evicted(seen)).beats.load() == 0)) {
    eviction.compare_exchange_strong(seen, 0);
    seen = eviction.load();
  }
  const ProcessIdentity identity = arena_->process(rank);
  if (is_traced(identity)) return spare(rank, "a debugger holds it");
  if (seen == 0) {
    if (!eviction.compare_exchange_strong(seen, word(self_, rank))) return;
    loop_.log(LogLevel::kWarning,
              concat("rank ", self_, ": rank ", rank, ", process ", identity.pid(), ", has stood still for ",
                     format_duration(limit()), " and is ended"));
  } else if (evicted(seen) != rank) {
    return;
  }
  std::uint32_t nobody = 0;
  arena_->slot(rank).ended_by.compare_exchange_strong(nobody, static_cast<std::uint32_t>(self_) + 1);
  const Descriptor process = open_process(identity);
  if (!process.valid()) return;  // it has ended by itself
  if (const int error = kill_process(process)) {
    spare(rank, concat("it cannot be ended: ", std::strerror(error)));
    seen = eviction.load();
    if (evicted(seen) == rank) eviction.compare_exchange_strong(seen, 0);
  }
}

void StallWatch::spare(Rank rank, const std::string& why) {
  seen_[arena_->index(rank)].spared = true;
  loop_.log(LogLevel::kWarning,
            concat("rank ", self_, ": rank ", rank, ", process ", arena_->process(rank).pid(),
                   ", has stood still for ", format_duration(limit()), "; ", why));
}

// The signal is on its way. What this rank still did would be lost, and might harm the others.
void StallWatch::accept_own_eviction() const {
  const Rank by = evictor(arena_->header().eviction.load());
  loop_.log(LogLevel::kError,
            concat("rank ", self_, ": this process stood still for ", format_duration(limit()), "; rank ", by,
                   " has taken it off the run, and it ends"));
  raise(SIGKILL);
}

}  // namespace starling::transport::shm
