// Which process: a pid alone may belong to a later process, so the identity holds its start time too. One
// word, so that it can be stored by one atomic operation.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "starling/core/descriptor.h"

namespace starling {

struct ProcessIdentity {
  std::uint64_t word = 0;  // 0: no process

  bool valid() const { return word != 0; }
  pid_t pid() const;
  bool operator==(const ProcessIdentity&) const = default;
};

// Not valid if there is no such process.
ProcessIdentity identity_of(pid_t pid);

// Readable when the process has ended. Not valid if it has ended and been reaped.
Descriptor open_process(ProcessIdentity identity);

// Whether a debugger holds the process.
bool is_traced(ProcessIdentity identity);

// Whether a signal has stopped the process, which only another can continue. A debugger's hold is not that.
bool is_stopped(pid_t pid);

// Sends SIGKILL. 0 or the error number.
int kill_process(const Descriptor& process);

}  // namespace starling
