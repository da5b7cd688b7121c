// Snapshots of the model at fixed times of the run: each worker copies its model at the first step boundary
// after every multiple of the interval, and the coordinator (coordinator.h) forms the mean. Belongs to the
// engine's thread; the copy is made on the user's, to which the extras belong.
//
// Memory is bounded: a worker has at most four models that the coordinator still needs. While it has four,
// further times are left to its next model, which then counts for several.
//
// The worker that follows if the coordinator is lost gets every mean, so none that was shown is lost. Models
// on their way are: it goes on with the next ones, so a snapshot or a few may be missing. The last models of
// workers that have ended are sent again.
#pragma once

#include <optional>
#include <vector>

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
  // The coordinator: until every worker has ended or is lost; shows the final snapshot, unless the
  // coordinator before has.
  runtime::Task<> concluded();
  // No coordinator will need this worker's last model any more.
  void forget() { last_model_.reset(); }

 private:
  runtime::Task<> take(bool final);
  SnapshotAverage& average();
  void note_losses();
  void send(Bytes copy);
  bool comes_next(const Snapshot& snapshot);
  void show(Snapshot snapshot);
  void keep(Rank from, const Bytes& bytes);

  RealWorker& worker_;
  ControlChannel& control_;
  const Callbacks& callbacks_;
  std::optional<Duration> interval_;
  Time origin_{};
  LossAverage losses_;
  std::uint64_t next_ = 0;                  // not taken yet
  int needed_ = 0;                          // models that the coordinator has not done with
  Rank told_ = 0;                           // the coordinator that got the last model
  std::optional<Bytes> last_model_;         // when the strategy is over, as it was sent
  std::optional<SnapshotAverage> average_;  // the coordinator
  // From the coordinator that this worker would follow.
  std::vector<std::uint64_t> steps_;  // of each worker, in its last snapshot
  // Of those that this worker has been shown or keeps a copy of.
  bool final_shown_ = false;
  std::optional<Duration> last_time_;
  runtime::Event news_;
};

}  // namespace starling::session
