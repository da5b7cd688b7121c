// The first exchange between ranks of different hosts.
#pragma once

#include <vector>

#include "starling/core/types.h"
#include "starling/runtime/task.h"
#include "starling/transport/transport.h"

namespace starling::transport::wire {

// Ends when every rank has heard from every rank on other hosts, within the transport's patience, or with
// PeerLost. An unreachable rank is thus reported at the beginning, and all connections are complete before
// anything is built on them: UCX 1.13 does not survive the death of a peer while they are being made (it
// aborts by "Assertion ... failed" in tcp_ep.c or tcp_iface.c). A rank that is lost once all are complete is
// left to the ranks that communicate with it.
runtime::Task<> greet(Transport& net, std::vector<Rank> others);

}  // namespace starling::transport::wire
