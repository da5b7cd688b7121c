// The progress of the workers: each reports to rank 0 twice a second, which shows it to the program. Belongs
// to the engine's thread.
#pragma once

#include <vector>

#include "starling/session/background/control_channel.h"
#include "starling/session/background/loss_average.h"
#include "starling/session/background/record_collector.h"
#include "starling/session/callbacks.h"
#include "starling/session/worker/real_worker.h"
#include "starling/session/worker/step_hook.h"

namespace starling::session {

class ProgressReports final : public StepHook {
 public:
  // Rank 0 also notes the reports for the record.
  ProgressReports(RealWorker& worker, ControlChannel& control, RecordCollector& collector,
                  const Callbacks& callbacks, bool wanted);

  runtime::Task<bool> before_step(std::uint64_t step) override;

  // Beside the strategy.
  runtime::Task<> run();
  // The strategy is over: the last report.
  void finished();
  // Rank 0: until all workers are done or lost; shows them once more.
  runtime::Task<> concluded();

 private:
  void report();
  void show();

  RealWorker& worker_;
  ControlChannel& control_;
  const Callbacks& callbacks_;
  bool wanted_;
  bool done_ = false;
  std::uint64_t first_;  // steps made before this run
  LossAverage losses_;
  std::vector<Progress> latest_;  // rank 0: by worker
  runtime::Event news_;
};

}  // namespace starling::session
