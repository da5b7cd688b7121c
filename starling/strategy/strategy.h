// A strategy decides when a worker synchronises, with whom, and what it sends. It is written as a coroutine
// that every worker runs, and reads like the paper it comes from.
//
// A strategy object holds the rules, which do not change during a run; mutable state lives in the coroutines.
// So one object may serve all ranks of a process.
#pragma once

#include "starling/strategy/worker.h"

namespace starling::strategy {

enum class Placement { kNone, kBesideWorker0, kOwnRank };

class Strategy {
 public:
  virtual ~Strategy() = default;

  // The whole work of a worker, from its first batch to its last.
  virtual Task<> run(Worker& self) const = 0;

  // Whether all workers make the same number of steps, so that a run must end at the same step for all.
  virtual bool lockstep() const { return true; }

  // The number of pieces that a step cuts a batch in. More than one: a worker may run fewer of them in a step
  // than others, so pieces are given out by demand.
  virtual int pieces() const { return 1; }

  // False: it plans the workers' portions of the global batch, which may differ.
  virtual bool equal_batches() const { return true; }

  // Whether every worker may pause after the same number of steps until the last one has got there, as for a
  // checkpoint: a pausing worker delays none that has not.
  virtual bool may_pause() const { return true; }

  // Where serve() runs.
  virtual Placement service() const { return Placement::kNone; }
  // Answers the workers. It need not end: it is cancelled when the last worker has finished.
  virtual Task<> serve(Member& self) const;
};

}  // namespace starling::strategy
