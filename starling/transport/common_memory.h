// Memory that the ranks of a host use in place: one block, which one of them puts there and all find. On real
// time it lies in the arena (shm/arena_common_memory.h), on virtual time in the simulator's process.
#pragma once

#include <cstddef>
#include <functional>

#include "starling/core/types.h"
#include "starling/runtime/task.h"

namespace starling::transport {

struct Memory;

class CommonMemory {
 public:
  // Null as long as no rank has put a block there.
  virtual std::byte* find() const = 0;
  // From now on all ranks of the host find this block, which is from Transport::allocate. It stays for as
  // long as any of them lives, whoever ends. Once in a run.
  virtual void put(const Memory& block) = 0;

  // Whether the rank is on this host.
  virtual bool has(Rank rank) const = 0;
  // The rank is on this host and has ended: it writes nothing any more.
  virtual bool gone(Rank rank) const = 0;

  // Waits until a condition over the block holds. It is evaluated again after every tell_others() of any rank
  // and when a rank is lost. Use sequentially consistent atomics for what it reads.
  virtual runtime::Task<> wait_until(std::function<bool()> condition) = 0;
  // The block has changed in a way that others may wait for.
  virtual void tell_others() = 0;

 protected:
  ~CommonMemory() = default;
};

}  // namespace starling::transport
