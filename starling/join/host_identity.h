// Which processes can share memory: those that run under the same kernel and see the same network and the
// same processes. Host names tell neither: containers of one machine have several, and cloned machines the
// same.
#pragma once

#include <string>

namespace starling::join {

// Of this process: the kernel's boot id and its namespaces, or what STARLING_HOST says instead.
std::string host_identity();

}  // namespace starling::join
