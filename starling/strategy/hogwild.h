// Hogwild! (Recht, Re, Wright and Niu, "Hogwild: a lock-free approach to parallelizing stochastic gradient
// descent", NIPS'11): one model in the memory of the host, read and updated by all workers without locks.
//
//   x <- the shared model;   x' <- x after the worker's own optimiser's step;   shared model += x' - x
//
// Reading and updating are one pass over the memory, between two steps (core/shared_update.h). Two workers
// that update an element in the same instant may lose one of the updates.
//
// Ours: what is added is the change that the worker's own optimiser makes, so any optimiser will do, and a
// momentum is the worker's own. Everybody's steps add up: n workers move the model n times as fast as one of
// them, with a gradient that is as many updates old as the others have made meanwhile.
//
// No bytes are sent. A worker that dies leaves its last update whole, or a part of it.
#pragma once

#include "starling/strategy/registry.h"

namespace starling::strategy {

class Hogwild final : public Strategy {
 public:
  Hogwild(const Options& /*options*/, int /*workers*/) {}
  Task<> run(Worker& self) const override;
  bool lockstep() const override { return false; }
};

StrategyEntry hogwild_row();

}  // namespace starling::strategy
