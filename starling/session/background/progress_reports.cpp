#include "starling/session/background/progress_reports.h"

#include <chrono>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/session/background/control_messages.h"

namespace starling::session {

using runtime::Task;

namespace {

constexpr Duration kInterval = std::chrono::milliseconds(500);

}  // namespace

ProgressReports::ProgressReports(RealWorker& worker, ControlChannel& control, RecordCollector& collector,
                                 const Callbacks& callbacks, bool wanted)
    : worker_(worker),
      control_(control),
      callbacks_(callbacks),
      wanted_(wanted),
      first_(worker.step()),
      losses_(first_) {
  if (!wanted || worker.rank() != 0) return;
  for (Rank rank = 0; rank < worker.workers(); ++rank) latest_.push_back({.rank = rank});
  control_.on(ControlChannel::Kind::kStatus, [this, &collector](Rank from, const Bytes& bytes) {
    const Progress status = progress_from(bytes, from);
    latest_.at(static_cast<std::size_t>(from)) = status;
    collector.note(from, status.steps - first_, status.samples);
    news_.pulse();
  });
  control_.on_loss([this] { news_.pulse(); });
}

Task<bool> ProgressReports::before_step(std::uint64_t) {
  losses_.count(worker_);
  co_return true;
}

Task<> ProgressReports::run() {
  if (!wanted_) co_return;
  const bool shows = worker_.rank() == 0 && callbacks_.show;
  for (Time next = worker_.now() + kInterval; !done_ || shows; next += kInterval) {
    co_await runtime::sleep_until(next);
    if (!done_) report();
    if (shows) show();
  }
}

void ProgressReports::finished() {
  if (!wanted_) return;
  losses_.count(worker_);
  done_ = true;
  report();
}

// Without a deadline: a worker may train for hours yet.
Task<> ProgressReports::concluded() {
  for (const Progress& status : latest_) {
    while (!status.done && !worker_.lost(status.rank)) {
      news_.rename(concat("the end of rank ", status.rank));
      co_await news_;
    }
  }
  if (wanted_ && callbacks_.show) show();
}

void ProgressReports::report() {
  const record::Journal& journal = worker_.journal();
  const Progress status{.rank = worker_.rank(),
                        .steps = first_ + journal.steps,
                        .samples = journal.samples,
                        .loss = losses_.take().mean(),
                        .computing = journal.computing,
                        .waiting = journal.waiting,
                        .done = done_};
  control_.send(0, ControlChannel::Kind::kStatus, to_bytes(status));
}

void ProgressReports::show() {
  for (Progress& status : latest_) status.lost = worker_.lost(status.rank);
  callbacks_.show(latest_);
}

}  // namespace starling::session
