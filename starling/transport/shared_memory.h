// The interface of a transport whose ranks map the same memory. Collectives build on this alone; they know
// nothing of queues, descriptors or processes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "starling/core/types.h"
#include "starling/runtime/wait.h"

namespace starling::transport {

class SharedMemory;

// Waits until a condition over shared memory holds. The condition is evaluated again whenever this rank is
// rung, a rank is lost, or the loop runs for another reason.
class Watch : public runtime::Wait {
 public:
  Watch(SharedMemory& memory, Time deadline) : memory_(memory), deadline_(deadline) {}

  virtual bool ready() = 0;

  bool await_ready() { return ready(); }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> self);
  // False if the deadline came first.
  bool await_resume() const { return !expired(); }

 private:
  SharedMemory& memory_;
  Time deadline_;
};

class SharedMemory {
 public:
  // Each rank has a board: memory that all ranks can write, zeroed before the first of them starts.
  static constexpr std::size_t kBoardBytes = std::size_t{4} << 20;
  virtual std::span<std::byte> board(Rank rank) = 0;

  // Memory from Transport::allocate is named by an offset that means the same to every rank.
  virtual std::optional<std::uint64_t> offset_of(std::span<const std::byte> bytes) const = 0;
  virtual std::byte* at(std::uint64_t offset) const = 0;

  // Wakes the rank if it is parked, and says whether it was. Publish first, with sequentially consistent
  // atomics, then ring.
  virtual bool ring(Rank rank) = 0;

  // Cores of this host that no rank uses now.
  virtual int idle_cores() const = 0;

  // Whether the rank is on this host; the functions below are for such ranks.
  virtual bool has(Rank rank) const = 0;

  // The rank has ended. All it wrote before is visible to a process that sees this.
  virtual bool gone(Rank rank) const = 0;
  // ... without announcing that it leaves: others may have left because of it.
  virtual bool died(Rank rank) const = 0;

  // Others may still write to `bytes` although their owner no longer needs them: they are not reused before
  // `settled` returns true.
  virtual void quarantine(std::span<const std::byte> bytes, std::function<bool()> settled) = 0;

  // Called at points where a crash is most harmful; tests make it crash.
  std::function<void(const char* where)> fault_point;

  // State of the layer above about this memory; lives as long as the transport.
  std::shared_ptr<void> attachment;

  void add(Watch& watch) { watches_.push_back(watch); }

 protected:
  ~SharedMemory() = default;

  // True if a watch was woken.
  bool look_at_watches();

 private:
  runtime::Wait::Queue watches_;
};

template <class Promise>
void Watch::await_suspend(std::coroutine_handle<Promise> self) {
  begin(self, deadline_);
  memory_.add(*this);
}

inline bool SharedMemory::look_at_watches() {
  bool any = false;
  while (runtime::Wait* wait =
             watches_.find([](runtime::Wait& w) { return static_cast<Watch&>(w).ready(); })) {
    wait->wake();
    any = true;
  }
  return any;
}

}  // namespace starling::transport
