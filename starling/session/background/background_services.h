// All that goes on beside the strategy of a worker: the end of the run is agreed on, the record is brought
// in. Belongs to the engine's thread.
#pragma once

#include <exception>
#include <optional>
#include <vector>

#include "starling/session/background/checkpoint.h"
#include "starling/session/background/control_channel.h"
#include "starling/session/background/progress_reports.h"
#include "starling/session/background/record_collector.h"
#include "starling/session/background/snapshot_service.h"
#include "starling/session/background/stop_protocol.h"
#include "starling/session/worker/real_worker.h"

namespace starling::session {

class BackgroundServices {
 public:
  // The same on all ranks, except for what `resume` holds.
  struct Options {
    bool lockstep = true;                    // filled in by the session: what the strategy says
    std::optional<Duration> until;           // after the common origin: no step begins later
    bool keep_record = false;                // for Session::collect(); needs memory for every step
    bool report = false;                     // workers tell how far they are, for Callbacks::show
    std::optional<Duration> snapshot_every;  // for Callbacks::snapshot
    std::uint64_t save_every = 0;            // steps of each worker, for Callbacks::save; 0: never
    std::optional<Resume> resume;  // the steps of the setting count from the beginning, not from here
    bool own_models = false;       // each worker starts from its own model and extras instead of rank 0's
  };

  // The references must outlive it.
  BackgroundServices(const strategy::RunInfo& info, RealWorker& worker, const Options& setting,
                     std::uint64_t last_step, const Callbacks& callbacks, const CheckpointState& kept);

  // Before begin(): the service that runs beside this worker.
  void include(strategy::Member& service) { records_.include(service.journal()); }
  // Between two steps, in this order.
  RealWorker::StepHooks hooks();
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
  Checkpoint checkpoint_;
};

}  // namespace starling::session
