// A four-ary heap of wakeups by (time, order) in which each entry knows its index, so that one can be removed
// from the middle. Four children instead of two: half the levels, and siblings share cache lines.
#pragma once

#include <cstddef>
#include <vector>

#include "starling/runtime/wakeup.h"

namespace starling::runtime {

class TimerHeap {
 public:
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }

  Wakeup& top() const { return *entries_.front().wakeup; }
  Time next_time() const { return entries_.front().time; }
  std::uint64_t next_order() const { return entries_.front().order; }

  void push(Wakeup& wakeup);
  void remove(Wakeup& wakeup) noexcept;

 private:
  // Keys are copied next to the pointer: comparing does not touch the wakeups.
  struct Entry {
    Time time;
    std::uint64_t order;
    Wakeup* wakeup;
    bool before(const Entry& other) const {
      return time != other.time ? time < other.time : order < other.order;
    }
  };

  void place(std::size_t index, const Entry& entry) noexcept;
  void rise(std::size_t index, const Entry& entry) noexcept;
  void sink(std::size_t index, const Entry& entry) noexcept;

  std::vector<Entry> entries_;
};

}  // namespace starling::runtime
