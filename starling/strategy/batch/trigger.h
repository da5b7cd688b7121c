// When a step ends whose batch is cut in pieces.
#pragma once

#include <string_view>

#include "starling/core/types.h"

namespace starling::strategy {

struct Trigger {
  enum class Kind {
    kFinishers,  // when so many workers have finished all their pieces
    kDeadline,   // when it has taken so long
    kAll,        // when all workers have finished: nothing is left out
  };
  Kind kind = Kind::kFinishers;
  int finishers = 1;
  Duration deadline{};
};

// "first", "quorum:3", "deadline:80ms", "all". InvalidArgument, naming `what`, for anything else.
Trigger parse_trigger(std::string_view text, std::string_view what);

}  // namespace starling::strategy
