// How far a run is, as a line of text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "starling/core/types.h"
#include "starling/session/callbacks.h"

namespace starling::session {

// Where the run ends, as far as it is known: with whichever comes first.
struct ProgressGoal {
  std::optional<std::uint64_t> steps = {};  // of each worker
  std::optional<Duration> time = {};
  std::uint64_t samples_per_epoch = 0;  // of all workers; 0: not known, and steps are shown instead
  std::optional<std::uint64_t> epochs = {};
};

// "12.3 s, epoch 0.52 of 2 (26 %, 35 s left), loss 0.234, 12345 samples/s, slowest: worker 0, the others wait
// 35 % of their time"
std::string progress_text(const std::vector<Progress>& workers, Duration elapsed, const ProgressGoal& goal);

}  // namespace starling::session
