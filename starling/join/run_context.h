// A process's part in a run: its loop, its transport and its strategy, according to the environment.
#pragma once

#include <memory>
#include <optional>

#include "starling/join/loop_keeper.h"
#include "starling/join/run_environment.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/strategy/strategy.h"
#include "starling/transport/transport.h"

namespace starling::transport::wire {
class MpiWorld;
}

namespace starling::join {

class RunContext {
 public:
  // Joins the run that this process was started in, by `starling launch`, mpirun, srun or torchrun; alone it
  // is a run of one. In a run on several hosts rank 0 reports on stderr how they are connected. Throws
  // InvalidArgument for a wrong environment, Timeout if the launcher or the others do not answer.
  RunContext() : RunContext(read_run_environment()) {}
  explicit RunContext(RunEnvironment environment);
  ~RunContext();

  const RunEnvironment& environment() const { return environment_; }
  // Both belong to the thread that asks for them first. Until then a thread of the context runs the loop.
  runtime::LoopScheduler& loop();
  transport::Transport& net();
  const strategy::Strategy& strategy() const { return *strategy_; }
  // Whether the strategy keeps all workers' models equal between two steps.
  bool equal_models() const { return equal_models_; }

 private:
  RunEnvironment environment_;
  bool equal_models_ = false;
  std::unique_ptr<strategy::Strategy> strategy_;
  std::shared_ptr<transport::wire::MpiWorld> mpi_;  // if it was used to join
  runtime::LoopScheduler loop_;
  std::unique_ptr<transport::Transport> net_;
  std::optional<LoopKeeper> keeper_;
};

}  // namespace starling::join
