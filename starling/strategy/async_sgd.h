// Asynchronous SGD: workers send gradients to a server, which applies each when it comes and sends the model
// back. It is `ps --mode asp` (ps.h) under the name that it has in papers about solvers. With a momentum of
// the run's optimiser, which is the server's, it is asynchronous MSGD.
#pragma once

#include "starling/strategy/registry.h"

namespace starling::strategy {

StrategyEntry async_sgd_row();

}  // namespace starling::strategy
