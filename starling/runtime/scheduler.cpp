#include "starling/runtime/scheduler.h"

#include <algorithm>

#include "starling/core/text.h"
#include "starling/runtime/wait.h"

namespace starling::runtime {

void Scheduler::at(Time time, Wakeup& wakeup) {
  if (wakeup.queued()) cancel(wakeup);
  wakeup.scheduler_ = this;
  wakeup.time_ = std::max(time, now());
  wakeup.order_ = shuffle_ ? shuffle_->next() : sequence_++;
  timers_.push(wakeup);
}

std::string Scheduler::waits(const Context* within) const {
  std::string text;
  const Time at = now();
  waiting_.for_each([&](const Wait& wait) {
    if (within != nullptr && !wait.context().inside(*within)) return;
    if (!text.empty()) text += '\n';
    text += concat(wait.context().path(), " waits for ", wait.describe(), " since ",
                   format_duration(wait.since().time_since_epoch()), " (", format_duration(at - wait.since()),
                   ")");
  });
  return text;
}

}  // namespace starling::runtime
