// All that goes on beside the strategy of a worker: the end of the run is agreed on, the record is brought
// in. Belongs to the engine's thread.
#pragma once

#include <exception>
#include <optional>
#include <vector>

#include "starling/session/background/checkpoint.h"
#include "starling/session/background/control_channel.h"
#include "starling/session/background/model_mean.h"
#include "starling/session/background/progress_reports.h"
#include "starling/session/background/record_collector.h"
#include "starling/session/background/snapshot_service.h"
#include "starling/session/background/stop_protocol.h"
#include "starling/session/session_options.h"
#include "starling/session/worker/real_worker.h"

namespace starling::session {

class BackgroundServices {
 public:
  // The references must outlive it. `lockstep`: what the strategy says.
  BackgroundServices(const strategy::RunInfo& info, RealWorker& worker, const SessionOptions& options,
                     bool lockstep, const Callbacks& callbacks, const CheckpointState& state);

  // Before begin(): the service that runs beside this worker.
  void include(strategy::Member& service) { records_.include(service.journal()); }
  // Between two steps, in this order.
  StepHooks step_hooks();
  ModelMean& model_mean() { return mean_; }
  void wish_end() { stop_.wish(); }

  // All ranks have agreed; the strategy has not begun.
  void begin(Time origin);
  // Beside the strategy. Never returns.
  runtime::Task<> run();

  // The strategy is over, with an error or none. Afterwards the engine no longer touches what the user's
  // thread may look at.
  runtime::Task<> conclude(std::exception_ptr error);
  // Brings in what the others have. After an error not for long: they may wait for this rank to be lost.
  runtime::Task<> see_off(std::exception_ptr error);
  // Rank 0, at the end.
  std::vector<record::RankRecord> take_records() { return records_.take(); }

 private:
  runtime::Task<> all_brought_in();

  RealWorker& worker_;
  ControlChannel control_;
  StopProtocol stop_;
  RecordCollector records_;
  ProgressReports reports_;
  SnapshotService snapshots_;
  ModelMean mean_;
  Checkpoint checkpoint_;
};

}  // namespace starling::session
