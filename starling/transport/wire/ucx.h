// UCX between hosts, by tag matching: TCP, RDMA and whatever else it knows.
#pragma once

#include <memory>
#include <string>

#include "starling/core/types.h"
#include "starling/transport/wire/engine.h"

namespace starling::transport::wire {

// Why there is no UCX in this build; empty if there is.
std::string why_no_ucx();

// "1.13.1", or empty.
std::string ucx_version();

// The engine of a rank. Throws Error if UCX does not start, or is not in this build.
std::unique_ptr<Engine> make_ucx(Rank self);

}  // namespace starling::transport::wire
