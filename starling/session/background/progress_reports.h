// The progress of the workers: each reports twice a second to the coordinator (coordinator.h), which shows it
// to the program, and passes it on to the worker that would follow it: so the last reports of the dead are
// not lost with it. Belongs to the engine's thread.
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
  // The reports are also noted for the record.
  ProgressReports(RealWorker& worker, ControlChannel& control, RecordCollector& collector,
                  const Callbacks& callbacks, bool wanted);

  runtime::Task<bool> before_step(std::uint64_t step) override;

  // Beside the strategy. Never returns if reports are wanted.
  runtime::Task<> run();
  // The strategy is over: the last report.
  void finished();
  // The coordinator: until all workers are done or lost; shows them once more, and then never again.
  runtime::Task<> concluded();

 private:
  void note(const Progress& status);
  void take_table(Rank from, const Bytes& bytes);
  void report();
  void show();
  void mark_lost();

  RealWorker& worker_;
  ControlChannel& control_;
  RecordCollector& collector_;
  const Callbacks& callbacks_;
  bool wanted_;
  bool done_ = false;       // this worker
  bool concluded_ = false;  // all workers, and they have been shown
  std::uint64_t first_;     // steps made before this run
  LossAverage losses_;
  Rank told_ = 0;                 // the coordinator that has this worker's last report
  std::vector<Progress> latest_;  // by worker; of use to the coordinator
  runtime::Event news_;
};

}  // namespace starling::session
