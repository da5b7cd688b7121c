// If several ranks have the same bad input, the first one reports it.
#pragma once

#include "starling/core/types.h"

namespace starling::cli {

// The rank of this process among those that were started together; 0 if it is alone, and in a wrong
// environment.
Rank rank_of_start();

// For the other ranks, before they end: waits to be ended by the launcher, which does so when the first has
// ended, but not for long. If one of the others ended sooner, the launcher might end the first before its
// report.
void let_first_rank_speak();

}  // namespace starling::cli
