// How long a rank may stand still before the others of its host end it (shm/stall_watch.h).
#pragma once

#include <chrono>

#include "starling/core/types.h"

namespace starling::transport {

// Generous, because a machine that swaps stalls its processes too.
inline constexpr Duration kDefaultStallLimit = std::chrono::seconds(20);

}  // namespace starling::transport
