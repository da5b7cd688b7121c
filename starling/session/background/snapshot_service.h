// Snapshots of the model at fixed times of the run: each worker copies its model at the first step boundary
// after every multiple of the interval, and rank 0 forms the mean. Belongs to the engine's thread; the copy
// is made on the user's, to which the extras belong.
//
// Memory is bounded: a worker has at most four models that rank 0 still needs. While it has four, further
// times are left to its next model, which then counts for several.
#pragma once

#include <optional>

#include "starling/runtime/event.h"
#include "starling/session/background/control_channel.h"
#include "starling/session/background/snapshot_average.h"
#include "starling/session/worker/real_worker.h"
#include "starling/session/worker/step_hook.h"

namespace starling::session {

class SnapshotService final : public StepHook {
 public:
  // Without an interval there are none.
  SnapshotService(RealWorker& worker, ControlChannel& control, const Callbacks& callbacks,
                  std::optional<Duration> interval);

  void begin(Time origin) { origin_ = origin; }
  runtime::Task<bool> before_step(std::uint64_t step) override;

  // The strategy ended well: the model counts for all later times.
  runtime::Task<> finished();
  // Rank 0: until every worker has ended or is lost; shows the final snapshot.
  runtime::Task<> concluded();

 private:
  runtime::Task<> take(bool final);

  RealWorker& worker_;
  ControlChannel& control_;
  const Callbacks& callbacks_;
  std::optional<Duration> interval_;
  Time origin_{};
  LossAverage losses_;
  std::uint64_t next_ = 0;                  // not taken yet
  int needed_ = 0;                          // models that rank 0 has not done with
  std::optional<SnapshotAverage> average_;  // rank 0
  runtime::Event news_;
};

}  // namespace starling::session
