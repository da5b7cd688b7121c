#include "starling/runtime/timer_heap.h"

#include <algorithm>

namespace starling::runtime {

namespace {
constexpr std::size_t kArity = 4;
}

void TimerHeap::push(Wakeup& wakeup) {
  entries_.emplace_back();
  rise(entries_.size() - 1, Entry{wakeup.time_, wakeup.order_, &wakeup});
}

void TimerHeap::remove(Wakeup& wakeup) noexcept {
  const std::size_t index = wakeup.heap_index_ - 1;
  wakeup.heap_index_ = 0;
  const Entry last = entries_.back();
  entries_.pop_back();
  if (index == entries_.size()) return;
  if (index > 0 && last.before(entries_[(index - 1) / kArity])) {
    rise(index, last);
  } else {
    sink(index, last);
  }
}

void TimerHeap::place(std::size_t index, const Entry& entry) noexcept {
  entries_[index] = entry;
  entry.wakeup->heap_index_ = index + 1;
}

void TimerHeap::rise(std::size_t index, const Entry& entry) noexcept {
  while (index > 0) {
    const std::size_t parent = (index - 1) / kArity;
    if (!entry.before(entries_[parent])) break;
    place(index, entries_[parent]);
    index = parent;
  }
  place(index, entry);
}

void TimerHeap::sink(std::size_t index, const Entry& entry) noexcept {
  const std::size_t size = entries_.size();
  for (;;) {
    const std::size_t first = index * kArity + 1;
    if (first >= size) break;
    const std::size_t last = std::min(first + kArity, size);
    std::size_t least = first;
    for (std::size_t child = first + 1; child < last; ++child) {
      if (entries_[child].before(entries_[least])) least = child;
    }
    if (!entries_[least].before(entry)) break;
    place(index, entries_[least]);
    index = least;
  }
  place(index, entry);
}

}  // namespace starling::runtime
