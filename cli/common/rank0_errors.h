// Of several ranks with the same bad input the first one says what is wrong with it.
#pragma once

#include "starling/core/types.h"

namespace starling::cli {

// Of this process among those that were started together; 0 if it is alone, and if the environment makes no
// sense.
Rank rank_of_start();

// For the others, before they end: waits to be ended by the launcher, which does so when the first has ended,
// but not for long. If one of the others ended sooner, the launcher might end the first before it has spoken.
void let_first_rank_speak();

}  // namespace starling::cli
