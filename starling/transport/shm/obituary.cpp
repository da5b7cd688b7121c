#include "starling/transport/shm/obituary.h"

#include <utility>

namespace starling::transport::shm {

Obituary::Obituary(std::shared_ptr<Arena> arena, Rank self, runtime::LoopScheduler& loop)
    : arena_(std::move(arena)),
      self_(self),
      loop_(loop),
      processes_(static_cast<std::size_t>(arena_->ranks())) {}

Obituary::~Obituary() {
  for (const Rank rank : arena_->members()) stop(rank);
}

void Obituary::update() {
  for (const Rank rank : arena_->members()) {
    if (rank == self_) continue;
    if (arena_->gone(rank)) {
      stop(rank);
    } else if (arena_->slot(rank).presence.load() == Presence::kJoined &&
               !processes_[arena_->index(rank)].valid()) {
      watch(rank);
    }
  }
}

void Obituary::watch(Rank rank) {
  const std::int64_t pid = arena_->slot(rank).pid.load();
  Descriptor process = open_process(static_cast<pid_t>(pid));
  if (!process.valid() || start_time_of(pid) != arena_->slot(rank).start_time.load()) {
    arena_->bury(rank, Presence::kDied);
    return;
  }
  loop_.watch(process.get(), [this, rank] {
    stop(rank);
    arena_->bury(rank, Presence::kDied);
  });
  processes_[arena_->index(rank)] = std::move(process);
}

void Obituary::stop(Rank rank) {
  Descriptor& process = processes_[arena_->index(rank)];
  if (!process.valid()) return;
  loop_.unwatch(process.get());
  process = Descriptor();
}

}  // namespace starling::transport::shm
