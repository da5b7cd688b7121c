// Work of a worker between two steps besides training: it checks whether the run is to end, compares models,
// saves. Everything here belongs to the engine's thread.
#pragma once

#include <cstdint>
#include <vector>

#include "starling/runtime/task.h"

namespace starling::session {

class StepHook {
 public:
  virtual ~StepHook() = default;
  // Called before the step of this number begins, counted from 1. False: it will not begin, the run is over.
  // A hook that looks at the model calls RealWorker::settle() first.
  virtual runtime::Task<bool> before_step(std::uint64_t step) = 0;
  // The last step is over, even if the strategy has not ended yet: it may still serve workers that have more.
  virtual void no_more_steps() {}
  // Whether it will wait for the other workers to get as far.
  virtual bool rests_before(std::uint64_t /*step*/) const { return false; }
};

// Called between two steps in this order; they must outlive the worker's last step.
using StepHooks = std::vector<StepHook*>;

}  // namespace starling::session
