// Which processes can share memory: those that run under the same kernel and see the same network and the
// same processes. Host names do not help: containers of one machine have several, and cloned machines the
// same one.
#pragma once

#include <string>

namespace starling::join {

// The identity of this process's host: the kernel's boot id and its namespaces, or STARLING_HOST if it is
// set.
std::string host_identity();

}  // namespace starling::join
