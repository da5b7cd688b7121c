// All that goes on beside the strategy of a worker: the end of the run is agreed on, the record is brought
// in. Belongs to the engine's thread.
#pragma once

#include <exception>
#include <optional>
#include <vector>

#include "starling/session/background/checkpoint.h"
#include "starling/session/background/control_channel.h"
#include "starling/session/background/model_equality_check.h"
#include "starling/session/background/model_mean.h"
#include "starling/session/background/progress_reports.h"
#include "starling/session/background/record_collector.h"
#include "starling/session/background/run_conclusion.h"
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
  // The batches that are given out by demand.
  void include(BatchShares& shares) { checkpoint_.include(shares); }
  // Between two steps, in this order.
  StepHooks step_hooks();
  // The messages about views: the record does not count them.
  void leave_out(const transport::Traffic& traffic) { records_.leave_out(traffic); }
  ModelMean& model_mean() { return mean_; }
  void wish_end() { stop_.wish(); }

  // All ranks have agreed; the strategy has not begun.
  void begin(Time origin);
  // Beside the strategy. Never returns.
  runtime::Task<> run();

  // The strategy is over, with an error or none. Afterwards the engine no longer touches what the user's
  // thread may look at.
  runtime::Task<> conclude(std::exception_ptr error);
  // Until the run is concluded, or it is up to this worker to conclude it, and it has what the others have.
  // After an error not for long: they may wait for this rank to be lost.
  runtime::Task<> see_off(std::exception_ptr error);
  // At the end, on the worker that concludes the run.
  std::vector<record::RankRecord> take_records();
  // The program has what it wants of the records.
  void release() { conclusion_.release(); }
  // Until all may go.
  runtime::Task<> concluded();

 private:
  runtime::Task<> bring_in_rest();
  runtime::Task<> bring_in_after_error();

  RealWorker& worker_;
  ControlChannel control_;
  StopProtocol stop_;
  RunConclusion conclusion_;
  RecordCollector records_;
  ProgressReports reports_;
  SnapshotService snapshots_;
  ModelMean mean_;
  Checkpoint checkpoint_;
  ModelEqualityCheck equality_check_;
  bool keeps_record_;
};

}  // namespace starling::session
