#include "starling/runtime/scheduler.h"

#include <algorithm>
#include <limits>

#include "starling/core/text.h"
#include "starling/runtime/wait.h"

namespace starling::runtime {

namespace {
constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();  // an order behind all others
}

void Scheduler::at(Time time, Wakeup& wakeup) {
  if (wakeup.queued()) cancel(wakeup);
  wakeup.scheduler_ = this;
  wakeup.time_ = std::max(time, now());
  wakeup.order_ = sequence_++;
  timers_.push(wakeup);
}

void Scheduler::at_end(Wakeup& wakeup) {
  if (wakeup.queued()) cancel(wakeup);
  wakeup.scheduler_ = this;
  wakeup.time_ = now();
  wakeup.order_ = kLast;
  timers_.push(wakeup);
}

bool Scheduler::run_from_bag(Time now) {
  while (!timers_.empty() && timers_.next_time() <= now && timers_.next_order() != kLast) {
    Wakeup& due = timers_.top();
    timers_.remove(due);
    put_in_bag(due);
  }
  if (bag_.empty()) return false;
  run(*bag_[shuffle_->below(bag_.size())]);
  return true;
}

template <class Predicate>
std::string Scheduler::list_waits(Predicate wanted) const {
  std::string text;
  const Time at = now();
  waiting_.for_each([&](const Wait& wait) {
    if (!wanted(wait)) return;
    if (!text.empty()) text += '\n';
    text += concat(wait.context().path(), " waits for ", wait.describe(), " since ",
                   format_duration(wait.since().time_since_epoch()), " (", format_duration(at - wait.since()),
                   ")");
  });
  return text;
}

std::string Scheduler::waits(const Context* within) const {
  return list_waits([&](const Wait& wait) { return within == nullptr || wait.context().inside(*within); });
}

std::string Scheduler::stalled_since(Time time) const {
  return list_waits([&](const Wait& wait) { return wait.since() <= time && wait.may_stall(); });
}

}  // namespace starling::runtime
