#include "cli/bench/core_limit.h"

#include <cerrno>
#include <cstring>

#include "starling/core/error.h"

namespace starling::cli {

CoreLimit::CoreLimit(int cores) {
  if (sched_getaffinity(0, sizeof before_, &before_) != 0)
    throw Error(concat("sched_getaffinity: ", std::strerror(errno)));
  cpu_set_t chosen;
  CPU_ZERO(&chosen);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&chosen) < cores; ++core) {
    if (CPU_ISSET(core, &before_)) CPU_SET(core, &chosen);
  }
  if (sched_setaffinity(0, sizeof chosen, &chosen) != 0)
    throw Error(concat("sched_setaffinity: ", std::strerror(errno)));
}

CoreLimit::~CoreLimit() { sched_setaffinity(0, sizeof before_, &before_); }

}  // namespace starling::cli
