// A process's part in a run: its loop, its transport and its strategy, as the environment says.
#pragma once

#include <memory>

#include "starling/runtime/loop_scheduler.h"
#include "starling/session/standing.h"
#include "starling/strategy/strategy.h"
#include "starling/transport/transport.h"

namespace starling::session {

class Membership {
 public:
  // Joins the run that this process was started in; alone it is a run of one. Throws InvalidArgument if the
  // environment makes no sense, Timeout if the launcher is not there.
  Membership() : Membership(read_standing()) {}
  explicit Membership(Standing standing);
  ~Membership();

  const Standing& standing() const { return standing_; }
  runtime::LoopScheduler& loop() { return loop_; }
  transport::Transport& net() { return *net_; }
  const strategy::Strategy& strategy() const { return *strategy_; }

 private:
  Standing standing_;
  std::unique_ptr<strategy::Strategy> strategy_;
  runtime::LoopScheduler loop_;
  std::unique_ptr<transport::Transport> net_;
};

}  // namespace starling::session
