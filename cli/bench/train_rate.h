// How fast a group of workers trained, from when each of them ended its steps. The same rule for all
// contestants of `starling bench train`, whatever they call a step inside.
#pragma once

#include <cstdint>
#include <istream>
#include <vector>

namespace starling::cli {

// By worker, in the order of its steps: when each ended, in seconds on a clock that all workers share.
using StepEnds = std::vector<std::vector<double>>;

struct TimedSteps {
  double steps = 0;    // of all workers together
  double seconds = 0;  // of the window that they were made in
};

// The window begins when the last worker has made its `warmup` steps, at least one. It ends when the last
// worker has made `steps` more, or before that when a worker makes none any more: in the window all train all
// the time. A step that lies partly in it counts in part. Error if a worker made no step after the warm-up,
// or if there is no such window.
TimedSteps timed_steps(const StepEnds& ends, std::uint64_t warmup, std::uint64_t steps);

// From the events.jsonl of a real run, however many spans of computing a step has. Error if a span of
// computing does not tell its step, or if a worker left out steps.
StepEnds read_step_ends(std::istream& events);

}  // namespace starling::cli
