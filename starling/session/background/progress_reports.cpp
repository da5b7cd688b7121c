#include "starling/session/background/progress_reports.h"

#include <chrono>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"
#include "starling/session/background/control_messages.h"
#include "starling/session/background/coordinator.h"

namespace starling::session {

using runtime::Task;

namespace {

constexpr Duration kInterval = std::chrono::milliseconds(500);

}  // namespace

ProgressReports::ProgressReports(RealWorker& worker, ControlChannel& control, RecordCollector& collector,
                                 const Callbacks& callbacks, bool wanted)
    : worker_(worker),
      control_(control),
      collector_(collector),
      callbacks_(callbacks),
      wanted_(wanted),
      first_(worker.step()),
      losses_(first_) {
  if (!wanted) return;
  for (Rank rank = 0; rank < worker.workers(); ++rank) latest_.push_back({.rank = rank});
  control_.on(ControlChannel::Kind::kStatus,
              [this](Rank from, const Bytes& bytes) { note(progress_from(bytes, from)); });
  control_.on(ControlChannel::Kind::kStatusTable,
              [this](Rank from, const Bytes& bytes) { take_table(from, bytes); });
  control_.on_loss([this] {
    if (coordinator_of(worker_.net()) != told_) report();
    news_.pulse();
  });
}

void ProgressReports::note(const Progress& status) {
  latest_.at(static_cast<std::size_t>(status.rank)) = status;
  collector_.note(status.rank, status.steps - first_, status.samples);
  news_.pulse();
}

// From the coordinator, which this worker would follow.
void ProgressReports::take_table(Rank from, const Bytes& bytes) {
  if (from != coordinator_of(worker_.net())) return;  // it is lost, and newer statuses may be here
  for (const Progress& status : progress_table_from(bytes, from, worker_.workers())) note(status);
  mark_lost();
  if (callbacks_.keep_progress) callbacks_.keep_progress(latest_);
}

Task<bool> ProgressReports::before_step(std::uint64_t) {
  losses_.count(worker_);
  co_return true;
}

Task<> ProgressReports::run() {
  if (!wanted_) co_return;
  for (Time next = worker_.now() + kInterval;; next += kInterval) {
    co_await runtime::sleep_until(next);
    if (!done_) report();
    if (is_coordinator(worker_.net()) && !concluded_) show();
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
  concluded_ = true;
  if (wanted_) show();
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
  told_ = coordinator_of(worker_.net());
  control_.send(told_, ControlChannel::Kind::kStatus, to_bytes(status));
}

void ProgressReports::show() {
  mark_lost();
  if (const auto next = successor_of(worker_.net(), worker_.workers()))
    control_.send(*next, ControlChannel::Kind::kStatusTable, to_bytes(latest_));
  if (callbacks_.show) callbacks_.show(latest_);
}

void ProgressReports::mark_lost() {
  for (Progress& status : latest_) status.lost = worker_.lost(status.rank);
}

}  // namespace starling::session
