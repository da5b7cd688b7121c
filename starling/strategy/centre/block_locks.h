// Locks of the blocks of a model that lies in common memory. A lock is one word there, which names the rank
// that holds it. A rank that has ended writes nothing any more: whoever waits for its lock takes it over, so
// nobody waits for the dead. A rank that lives is waited for without end; its own exchange of a block takes
// microseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "starling/strategy/worker.h"

namespace starling::strategy {

// On a cache line of its own, so that neighbouring locks do not disturb each other.
struct alignas(64) BlockLock {
  std::atomic<std::int32_t> holder;   // rank + 1; 0: free
  std::atomic<std::uint64_t> visits;  // so far, by anybody
};

class BlockLocks {
 public:
  // The words are in the common memory, zero at first. `computed`: Stopwatch::in_background_until.
  BlockLocks(Member& self, transport::CommonMemory& memory, std::span<BlockLock> locks)
      : self_(self), memory_(memory), locks_(locks) {}

  // False: another rank holds it.
  bool try_lock(std::size_t block);
  // Returns when this rank has it.
  Task<> lock(std::size_t block, const std::optional<Time>& computed);
  void unlock(std::size_t block);

 private:
  bool take(BlockLock& lock) const;
  std::int32_t own_word() const { return self_.rank() + 1; }

  Member& self_;
  transport::CommonMemory& memory_;
  std::span<BlockLock> locks_;
};

}  // namespace starling::strategy
