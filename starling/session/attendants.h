// All that goes on beside the strategy of a worker: the end of the run is agreed on, the record is brought
// in. Belongs to the engine's thread.
#pragma once

#include <exception>
#include <optional>
#include <vector>

#include "starling/session/checkpoint.h"
#include "starling/session/ending.h"
#include "starling/session/gallery.h"
#include "starling/session/harvest.h"
#include "starling/session/letters.h"
#include "starling/session/real_worker.h"
#include "starling/session/status.h"

namespace starling::session {

class Attendants {
 public:
  // The same on all ranks, except for what `resume` holds.
  struct Setting {
    bool lockstep = true;                    // filled in by the session: what the strategy says
    std::optional<Duration> until;           // after the common origin: no step begins later
    bool keep_record = false;                // for Session::collect(); needs memory for every step
    bool report = false;                     // workers tell how far they are, for Program::show
    std::optional<Duration> snapshot_every;  // for Program::snapshot
    std::uint64_t save_every = 0;            // steps of each worker, for Program::save; 0: never
    std::optional<Resume> resume;  // the steps of the setting count from the beginning, not from here
    bool own_models = false;       // each worker starts from its own model and extras instead of rank 0's
  };

  // The references must outlive it.
  Attendants(const strategy::Place& place, RealWorker& worker, const Setting& setting,
             std::uint64_t last_step, const Program& program, const Kept& kept);

  // Before begin(): the service that runs beside this worker.
  void include(strategy::Member& service) { harvest_.include(service.journal()); }
  // Between two steps, in this order.
  RealWorker::Duties duties();
  void wish_end() { ending_.wish(); }

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
  std::vector<record::RankRecord> take_records() { return harvest_.take(); }

 private:
  runtime::Task<> all_brought_in();

  RealWorker& worker_;
  Letters letters_;
  Ending ending_;
  Harvest harvest_;
  StatusReports reports_;
  Gallery gallery_;
  Checkpoint checkpoint_;
};

}  // namespace starling::session
