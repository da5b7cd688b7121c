#include "starling/session/background/snapshot_service.h"

#include <algorithm>
#include <memory>

#include "starling/core/error.h"
#include "starling/session/background/control_messages.h"
#include "starling/session/background/coordinator.h"
#include "starling/strategy/worker.h"

namespace starling::session {

using runtime::Task;
using Kind = ControlChannel::Kind;

namespace {

constexpr int kMostNeeded = 4;

// The parameters, then the extras, behind room for what is said about it.
void copy_model(std::span<const float> parameters, const Callbacks& callbacks, Bytes& into) {
  std::byte* info = into.data() + kModelCopyBytes;
  const auto append = [&](std::span<const float> part) {
    const auto bytes = std::as_bytes(part);
    info = std::copy(bytes.begin(), bytes.end(), info);
  };
  append(parameters);
  for (const std::span<float> extra : callbacks.extras) append(extra);
}

}  // namespace

SnapshotService::SnapshotService(RealWorker& worker, ControlChannel& control, const Callbacks& callbacks,
                                 std::optional<Duration> interval)
    : worker_(worker),
      control_(control),
      callbacks_(callbacks),
      interval_(interval),
      losses_(worker.step()),
      steps_(static_cast<std::size_t>(worker.workers())) {
  if (!interval) return;
  if (*interval <= Duration(0)) {
    throw InvalidArgument(
        concat("snapshots every ", format_duration(*interval), ": the interval must be above 0"));
  }
  control_.on(Kind::kModelTaken, [this](Rank from, const Bytes&) {
    if (from == told_) --needed_;
  });
  control_.on(Kind::kModel, [this](Rank from, Bytes bytes) {
    const ModelCopy copy = model_copy_from(bytes, from);
    average().add(from, copy, std::move(bytes), kModelCopyBytes);
    news_.pulse();
  });
  control_.on(Kind::kSnapshot, [this](Rank from, const Bytes& bytes) { keep(from, bytes); });
  control_.on_loss([this] {
    note_losses();
    news_.pulse();
  });
}

SnapshotAverage& SnapshotService::average() {
  if (!average_) {
    average_.emplace(
        worker_.workers(), *interval_, [this](Snapshot snapshot) { show(std::move(snapshot)); },
        [this](Rank rank) { control_.send(rank, Kind::kModelTaken, {}); });
  }
  return *average_;
}

// A new coordinator needs no models but the last: those on their way to the one before are dropped.
void SnapshotService::note_losses() {
  const Rank coordinator = coordinator_of(worker_.net());
  if (coordinator == worker_.rank()) {
    for (Rank rank = 0; rank < worker_.workers(); ++rank) {
      if (worker_.lost(rank)) average().lose(rank, steps_[static_cast<std::size_t>(rank)]);
    }
  }
  if (coordinator != told_ && last_model_) send(*last_model_);
}

void SnapshotService::send(Bytes copy) {
  const Rank coordinator = coordinator_of(worker_.net());
  if (coordinator != told_) needed_ = 0;
  told_ = coordinator;
  ++needed_;
  control_.send(told_, Kind::kModel, std::move(copy));
}

// A coordinator that follows another forms means of its own while the last ones of the other may still
// arrive: each time is shown once, and nothing after the final one.
bool SnapshotService::comes_next(const Snapshot& snapshot) {
  if (final_shown_ || (last_time_ && snapshot.time <= *last_time_ && !snapshot.final)) return false;
  final_shown_ = snapshot.final;
  last_time_ = snapshot.time;
  return true;
}

void SnapshotService::show(Snapshot snapshot) {
  if (!comes_next(snapshot)) return;
  const std::optional<Rank> next = successor_of(worker_.net(), worker_.workers());
  if (next && callbacks_.keep_snapshot)
    control_.send(*next, Kind::kSnapshot, to_bytes(snapshot, average().steps()));
  if (callbacks_.snapshot) callbacks_.snapshot(std::move(snapshot));
}

void SnapshotService::keep(Rank from, const Bytes& bytes) {
  SnapshotCopy copy = snapshot_copy_from(bytes, from);
  if (!comes_next(copy.snapshot)) return;
  if (copy.steps.size() == steps_.size()) steps_ = std::move(copy.steps);
  if (callbacks_.keep_snapshot) callbacks_.keep_snapshot(std::move(copy.snapshot));
}

Task<bool> SnapshotService::before_step(std::uint64_t) {
  if (!interval_) co_return true;
  losses_.count(worker_);
  const auto now = static_cast<std::uint64_t>((worker_.now() - origin_) / *interval_);
  const bool enough = needed_ >= kMostNeeded && told_ == coordinator_of(worker_.net());
  if (first_snapshot(next_) > now || enough) co_return true;
  co_await take(false);
  co_return true;
}

Task<> SnapshotService::finished() {
  if (!interval_) co_return;
  losses_.count(worker_);
  co_await take(true);
}

Task<> SnapshotService::take(bool final) {
  co_await worker_.settle();
  ModelCopy copy;
  copy.first = next_;
  copy.time = worker_.now() - origin_;
  copy.last = static_cast<std::uint64_t>(copy.time / *interval_);
  if (next_ == 0 && !final) copy.last = 0;  // the initial model has a snapshot of its own
  copy.steps = worker_.step();
  copy.losses = losses_.take();
  copy.final = final;
  next_ = copy.last + 1;
  const std::span<const float> parameters = strategy::floats(worker_.parameters());
  const auto bytes = std::make_shared<Bytes>(kModelCopyBytes +
                                             (parameters.size() + extra_count(callbacks_)) * sizeof(float));
  Task<> copied = worker_.on_user_thread(
      [parameters, bytes, &callbacks = callbacks_] { copy_model(parameters, callbacks, *bytes); },
      "copy its model");
  co_await copied;
  std::ranges::copy(to_bytes(copy), bytes->begin());
  if (final) last_model_ = *bytes;
  send(std::move(*bytes));
}

// Without a deadline: a worker may train for hours yet.
Task<> SnapshotService::concluded() {
  if (!interval_ || final_shown_) co_return;
  while (const std::optional<Rank> missing = average().missing()) {
    news_.rename(concat("the last model of rank ", *missing));
    co_await news_;
  }
  if (!final_shown_) average().conclude();
}

}  // namespace starling::session
