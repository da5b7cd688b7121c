// A rank that only serves, such as a parameter server with a rank of its own.
#pragma once

#include "starling/session/session_options.h"

namespace starling {
namespace join {
class RunContext;
}
namespace strategy {
class Strategy;
}
namespace transport {
class Transport;
}
}  // namespace starling

namespace starling::session {

// Returns when all workers are done. The options are those of the workers.
void run_service(transport::Transport& net, const strategy::Strategy& strategy,
                 const SessionOptions& options);
void run_service(join::RunContext& context, SessionOptions options);

}  // namespace starling::session
