// The end of a run: a rank that is done stays until all are, because it may still be needed (a service, the
// memory that others read), and because a rank that leaves counts as lost.
#pragma once

#include "starling/runtime/task.h"
#include "starling/transport/transport.h"

namespace starling::session {

// Returns when every rank has called it or is lost.
runtime::Task<> exit_barrier(transport::Transport& net);

}  // namespace starling::session
