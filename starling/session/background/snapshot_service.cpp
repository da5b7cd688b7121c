#include "starling/session/background/snapshot_service.h"

#include <algorithm>
#include <memory>

#include "starling/core/error.h"
#include "starling/session/background/control_messages.h"
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
    : worker_(worker), control_(control), callbacks_(callbacks), interval_(interval), losses_(worker.step()) {
  if (!interval) return;
  if (*interval <= Duration(0)) {
    throw InvalidArgument(
        concat("snapshots every ", format_duration(*interval), ": the interval must be above 0"));
  }
  control_.on(Kind::kModelTaken, [this](Rank, const Bytes&) { --needed_; });
  if (worker.rank() != 0) return;
  average_.emplace(worker.workers(), *interval, callbacks.snapshot,
                   [this](Rank rank) { control_.send(rank, Kind::kModelTaken, {}); });
  control_.on(Kind::kModel, [this](Rank from, Bytes bytes) {
    const ModelCopy copy = model_copy_from(bytes, from);
    average_->add(from, copy, std::move(bytes), kModelCopyBytes);
    news_.pulse();
  });
  control_.on_loss([this] {
    for (Rank rank = 0; rank < worker_.workers(); ++rank) {
      if (worker_.lost(rank)) average_->lose(rank);
    }
    news_.pulse();
  });
}

Task<bool> SnapshotService::before_step(std::uint64_t) {
  if (!interval_) co_return true;
  losses_.count(worker_);
  const auto now = static_cast<std::uint64_t>((worker_.now() - origin_) / *interval_);
  if (first_snapshot(next_) > now || needed_ >= kMostNeeded || worker_.lost(0)) co_return true;
  co_await take(false);
  co_return true;
}

Task<> SnapshotService::finished() {
  if (!interval_ || worker_.lost(0)) co_return;
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
  ++needed_;
  control_.send(0, Kind::kModel, std::move(*bytes));
}

// Without a deadline: a worker may train for hours yet.
Task<> SnapshotService::concluded() {
  if (!average_) co_return;
  while (const std::optional<Rank> missing = average_->missing()) {
    news_.rename(concat("the last model of rank ", *missing));
    co_await news_;
  }
  average_->conclude();
}

}  // namespace starling::session
