// Ends what a launcher has started when the launcher dies, even by SIGKILL. The kernel does that for its
// children; the children of those, behind a shell for instance, are in the same process group, which a small
// process kills that outlives the launcher for this purpose.
#pragma once

#include <sys/types.h>

#include <optional>

#include "starling/core/child_process.h"
#include "starling/core/descriptor.h"

namespace starling::launch {

class GroupGuard {
 public:
  GroupGuard();
  ~GroupGuard();
  GroupGuard(const GroupGuard&) = delete;
  GroupGuard& operator=(const GroupGuard&) = delete;

  void add(pid_t group) { tell(group); }
  // Its members have ended, and the number may be used again.
  void remove(pid_t group) { tell(-group); }

 private:
  void tell(pid_t change);

  Descriptor channel_;
  std::optional<ChildProcess> guard_;
};

}  // namespace starling::launch
