// The common part of both schedulers: the queue of what runs next, the timers, and the list of waits. A
// scheduler belongs to one thread; everything that waits on it is touched by that thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "starling/core/log.h"
#include "starling/core/random.h"
#include "starling/core/types.h"
#include "starling/runtime/list.h"
#include "starling/runtime/timer_heap.h"
#include "starling/runtime/wakeup.h"

namespace starling::runtime {

class Wait;
struct RegistryTag;
struct Context;

class Scheduler {
 public:
  virtual ~Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  virtual Time now() const = 0;

  // Queues a wakeup for this instant (behind what is queued already) or for a time; a time that has passed
  // counts as this instant. A wakeup that is queued already moves.
  void soon(Wakeup& wakeup);
  void at(Time time, Wakeup& wakeup);
  // Queues a wakeup for this instant, behind everything else of it, including what is queued later. On
  // virtual time only.
  void at_end(Wakeup& wakeup);
  void cancel(Wakeup& wakeup) noexcept;

  // Runs until `finished` says so. `finished` is asked after every wakeup.
  virtual void drive(bool (*finished)(void*), void* argument) = 0;

  // One line per wait, oldest first: which task waits for what, since when. Only those under `within`, if
  // given.
  std::string waits(const Context* within = nullptr) const;
  // The same for the waits that began before `time` and may be stalled.
  std::string stalled_since(Time time) const;

  std::uint64_t events() const { return events_; }

  void set_log(LogSink log) { log_ = std::move(log); }
  void log(LogLevel level, std::string_view text) const { log_(level, text); }

 protected:
  Scheduler() = default;

  bool any_ready() const { return !ready_.empty(); }
  bool any_waiting() const { return !waiting_.empty(); }
  const TimerHeap& timers() const { return timers_; }

  // Whether something is ready that was queued before `sequence`.
  bool ready_before(std::uint64_t sequence) { return !ready_.empty() && ready_.front().order_ < sequence; }
  std::uint64_t sequence() const { return sequence_; }

  void run_ready() { run(ready_.pop_front()); }
  void run_timer() { run(timers_.top()); }
  // True if the next wakeup of instant `now` is a timer: it was queued before the first ready one.
  bool timer_first(Time now);

  // From here on events of one instant run in random order: those that are ready are kept in a bag.
  void shuffle(std::uint64_t seed) { shuffle_.emplace(seed); }
  bool shuffled() const { return shuffle_.has_value(); }
  // Runs one wakeup that is ready or due at `now`. False if there is none.
  bool run_from_bag(Time now);

 private:
  friend class Wait;

  void run(Wakeup& wakeup);
  void put_in_bag(Wakeup& wakeup);
  void take_from_bag(Wakeup& wakeup) noexcept;
  template <class Predicate>
  std::string list_waits(Predicate wanted) const;

  List<Wakeup, ReadyTag> ready_;
  std::vector<Wakeup*> bag_;
  TimerHeap timers_;
  List<Wait, RegistryTag> waiting_;
  std::optional<Random> shuffle_;
  std::uint64_t sequence_ = 0;
  std::uint64_t events_ = 0;
  LogSink log_ = stderr_log();
};

inline void Scheduler::soon(Wakeup& wakeup) {
  if (wakeup.queued()) cancel(wakeup);
  wakeup.scheduler_ = this;
  if (shuffle_) {
    put_in_bag(wakeup);
  } else {
    wakeup.order_ = sequence_++;
    ready_.push_back(wakeup);
  }
}

inline void Scheduler::cancel(Wakeup& wakeup) noexcept {
  if (wakeup.heap_index_ != 0) timers_.remove(wakeup);
  if (wakeup.bag_index_ != 0) take_from_bag(wakeup);
  wakeup.unlink();
  wakeup.scheduler_ = nullptr;
}

inline void Scheduler::put_in_bag(Wakeup& wakeup) {
  bag_.push_back(&wakeup);
  wakeup.bag_index_ = bag_.size();
}

inline void Scheduler::take_from_bag(Wakeup& wakeup) noexcept {
  Wakeup* const last = bag_.back();
  bag_[wakeup.bag_index_ - 1] = last;
  last->bag_index_ = wakeup.bag_index_;
  bag_.pop_back();
  wakeup.bag_index_ = 0;
}

inline void Scheduler::run(Wakeup& wakeup) {
  cancel(wakeup);
  ++events_;
  wakeup.action_(wakeup);
}

inline bool Scheduler::timer_first(Time now) {
  if (timers_.empty() || timers_.next_time() > now) return false;
  return ready_.empty() || timers_.next_order() < ready_.front().order_;
}

inline void Wakeup::cancel() noexcept {
  if (scheduler_ != nullptr) scheduler_->cancel(*this);
}

}  // namespace starling::runtime
