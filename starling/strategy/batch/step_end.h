// Decides when a worker ends a step whose batch is cut in pieces: when it has finished them, or when enough
// others have finished theirs.
//
// A worker that finishes tells all others, by a small message with the number of the step. The others look
// between two pieces. A message for a step implies all earlier ones, so one that comes late does no harm.
// With a deadline every worker looks at its own clock.
//
// A piece that is under way when the step ends is finished, or dropped. Or it is not begun (ours): a worker
// that knows how long its pieces take, and when the last steps ended, leaves out a piece that would end so
// much later that the others' waiting costs more than it is worth: with n workers and K pieces, more than the
// n K-th part of the step. Where pieces are computed as one, a pass is made as short as fits.
#pragma once

#include <cstdint>
#include <memory>

#include "starling/strategy/batch/trigger.h"
#include "starling/strategy/worker.h"

namespace starling::strategy {

class StepEnd final : public StepListener {
 public:
  enum class Late { kAvoid, kFinish, kDrop };  // the piece under way
  struct Rules {
    int pieces = 8;
    bool several = false;  // pieces may be computed as one (piece_size.h)
    Trigger trigger = {};
    Late late = Late::kAvoid;
  };

  // One per worker and run, from its strategy. `also`, if any, learns of the step too; it does not work by
  // section.
  StepEnd(Worker& self, const Rules& rules, StepListener* also = nullptr);
  ~StepEnd() override;

  // For the worker's steps.
  const StepPlan& plan() const { return plan_; }
  // The worker's step is computed. To be called before anything waits for others.
  void computed();

  void begins() override;
  bool by_section() const override { return false; }
  Task<> settle() override;

 private:
  struct State;

  Worker& self_;
  StepListener* also_;
  std::shared_ptr<State> state_;  // shared with the task that takes the messages
  StepPlan plan_;
};

}  // namespace starling::strategy
