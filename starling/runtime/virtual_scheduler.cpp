#include "starling/runtime/virtual_scheduler.h"

#include "starling/core/error.h"

namespace starling::runtime {

void VirtualScheduler::drive(bool (*finished)(void*), void* argument) {
  while (!finished(argument)) {
    if (shuffled() && run_from_bag(now_)) continue;
    if (any_ready() && !timer_first(now_)) {
      run_ready();
    } else if (!timers().empty()) {
      now_ = timers().next_time();
      if (!shuffled() || !run_from_bag(now_)) run_timer();
    } else {
      throw Deadlock(concat("deadlock at ", format_duration(now_.time_since_epoch()),
                            ": nothing can run any more\n", waits()));
    }
  }
}

}  // namespace starling::runtime
