// Which cores a benchmark may use.
#pragma once

#include <sched.h>

namespace starling::cli {

// While it lives, this process and those that it starts run on the first `cores` of the cores that they may
// use; on all of them if there are fewer.
class CoreLimit {
 public:
  explicit CoreLimit(int cores);
  ~CoreLimit();
  CoreLimit(const CoreLimit&) = delete;
  CoreLimit& operator=(const CoreLimit&) = delete;

 private:
  cpu_set_t before_;
};

}  // namespace starling::cli
