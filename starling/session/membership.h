// A process's part in a run: its loop, its transport and its strategy, as the environment says.
#pragma once

#include <memory>

#include "starling/runtime/loop_scheduler.h"
#include "starling/session/standing.h"
#include "starling/strategy/strategy.h"
#include "starling/transport/transport.h"

namespace starling::transport::wire {
class MpiWorld;
}

namespace starling::session {

class Membership {
 public:
  // Joins the run that this process was started in, by `starling launch`, mpirun, srun or torchrun; alone it
  // is a run of one. Of a run on several hosts rank 0 says on stderr by what they are connected. Throws
  // InvalidArgument if the environment makes no sense, Timeout if the launcher or the others are not there.
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
  std::shared_ptr<transport::wire::MpiWorld> mpi_;  // if it was used to join
  runtime::LoopScheduler loop_;
  std::unique_ptr<transport::Transport> net_;
};

}  // namespace starling::session
