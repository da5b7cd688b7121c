// How ranks of different hosts begin.
#pragma once

#include <vector>

#include "starling/core/types.h"
#include "starling/runtime/task.h"
#include "starling/transport/transport.h"

namespace starling::transport::wire {

// Ends when everybody has had a word of everybody on other hosts, within the transport's patience, or with
// PeerLost. So who cannot be reached is told at the beginning, and all connections are complete before
// anything is built on them: that a peer dies while they are being made is more than UCX 1.13 survives (it
// aborts by "Assertion ... failed" in tcp_ep.c or tcp_iface.c). A rank that is lost once all are complete is
// left to who has to do with it.
runtime::Task<> greet(Transport& net, std::vector<Rank> others);

}  // namespace starling::transport::wire
