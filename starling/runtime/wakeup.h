// A wakeup is something a scheduler will run: now, or at a time. It is a member of the object that wants to
// be woken, and its destructor takes it out of the queue, so a queue never holds a dangling entry.
#pragma once

#include <cstddef>
#include <cstdint>

#include "starling/core/types.h"
#include "starling/runtime/list.h"

namespace starling::runtime {

class Scheduler;

struct ReadyTag;

class Wakeup : public Hook<ReadyTag> {
 public:
  using Action = void (*)(Wakeup&);

  explicit Wakeup(Action action) : action_(action) {}
  ~Wakeup() { cancel(); }

  bool queued() const { return scheduler_ != nullptr; }
  void cancel() noexcept;

 private:
  friend class Scheduler;
  friend class TimerHeap;

  Action action_;
  Scheduler* scheduler_ = nullptr;
  Time time_{};
  std::uint64_t order_ = 0;
  std::size_t heap_index_ = 0;  // 1-based; 0: not in the heap
  std::size_t bag_index_ = 0;   // the same for the bag of wakeups that are ready in no order
};

}  // namespace starling::runtime
