#include "starling/strategy/centre/block_locks.h"

#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

// A dead rank's word is exchanged for the own one, so only one of those that wait takes the lock over.
bool BlockLocks::take(BlockLock& lock) const {
  std::int32_t found = 0;
  if (lock.holder.compare_exchange_strong(found, own_word())) return true;
  return memory_.gone(found - 1) && lock.holder.compare_exchange_strong(found, own_word());
}

bool BlockLocks::try_lock(std::size_t block) {
  if (!take(locks_[block])) return false;
  self_.journal().lock_waits.note({});
  return true;
}

Task<> BlockLocks::lock(std::size_t block, const std::optional<Time>& computed) {
  BlockLock& lock = locks_[block];
  const Time since = self_.now();
  Stopwatch watch(self_, record::Activity::kWait, lock.holder.load() - 1);
  watch.in_background_until(computed);
  co_await memory_.wait_until([&] { return take(lock); });
  self_.journal().lock_waits.note(self_.now() - since);
}

// On virtual time a rank that was held for dead may come back when another has its lock.
void BlockLocks::unlock(std::size_t block) {
  std::int32_t own = own_word();
  locks_[block].holder.compare_exchange_strong(own, 0);
  memory_.tell_others();
}

}  // namespace starling::strategy
