#include "starling/transport/shm/obituary.h"

#include <utility>

namespace starling::transport::shm {

Obituary::Obituary(std::shared_ptr<Arena> arena, Rank self, runtime::LoopScheduler& loop)
    : arena_(std::move(arena)),
      self_(self),
      loop_(loop),
      watched_(static_cast<std::size_t>(arena_->ranks())) {}

Obituary::~Obituary() {
  for (const Rank rank : arena_->members()) stop(rank);
}

void Obituary::update() {
  for (const Rank rank : arena_->members()) {
    if (rank == self_) continue;
    if (arena_->gone(rank)) {
      stop(rank);
    } else if (arena_->slot(rank).presence.load() == Presence::kJoined &&
               watched_[arena_->index(rank)].identity != arena_->process(rank)) {
      watch(rank);
    }
  }
}

void Obituary::watch(Rank rank) {
  stop(rank);
  const ProcessIdentity identity = arena_->process(rank);
  Descriptor process = open_process(identity);
  if (!process.valid()) {
    arena_->bury(rank, Presence::kDied);
    return;
  }
  loop_.watch(process.get(), [this, rank, identity] {
    stop(rank);
    // A wrapper may end before the process that it has started.
    if (arena_->process(rank) == identity) {
      arena_->bury(rank, Presence::kDied);
    } else {
      watch(rank);
    }
  });
  watched_[arena_->index(rank)] = {identity, std::move(process)};
}

void Obituary::stop(Rank rank) {
  Watched& watched = watched_[arena_->index(rank)];
  if (watched.process.valid()) loop_.unwatch(watched.process.get());
  watched = {};
}

}  // namespace starling::transport::shm
