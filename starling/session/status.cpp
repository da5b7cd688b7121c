#include "starling/session/status.h"

#include <chrono>

#include "starling/core/error.h"
#include "starling/runtime/deadline.h"

namespace starling::session {

using runtime::Task;

namespace {

constexpr Duration kInterval = std::chrono::milliseconds(500);

}  // namespace

StatusReports::StatusReports(RealWorker& worker, Letters& letters, Harvest& harvest, const Program& program,
                             bool wanted)
    : worker_(worker),
      letters_(letters),
      program_(program),
      wanted_(wanted),
      first_(worker.step()),
      losses_(first_) {
  if (!wanted || worker.rank() != 0) return;
  for (Rank rank = 0; rank < worker.workers(); ++rank) latest_.push_back({.rank = rank});
  letters_.on(Letters::Kind::kStatus, [this, &harvest](Rank from, const Bytes& bytes) {
    const auto status = ByteReader(bytes, concat("the status of rank ", from)).get<Status>();
    latest_.at(static_cast<std::size_t>(from)) = status;
    harvest.note(from, status.steps - first_, status.samples);
    news_.pulse();
  });
  letters_.on_loss([this] { news_.pulse(); });
}

Task<bool> StatusReports::before_step(std::uint64_t) {
  losses_.count(worker_);
  co_return true;
}

Task<> StatusReports::run() {
  if (!wanted_) co_return;
  const bool shows = worker_.rank() == 0 && program_.show;
  for (Time next = worker_.now() + kInterval; !done_ || shows; next += kInterval) {
    co_await runtime::sleep_until(next);
    if (!done_) report();
    if (shows) show();
  }
}

void StatusReports::finished() {
  if (!wanted_) return;
  losses_.count(worker_);
  done_ = true;
  report();
}

// Without a deadline: a worker may train for hours yet.
Task<> StatusReports::concluded() {
  for (const Status& status : latest_) {
    while (!status.done && !worker_.lost(status.rank)) {
      news_.rename(concat("the end of rank ", status.rank));
      co_await news_;
    }
  }
  if (wanted_ && program_.show) show();
}

void StatusReports::report() {
  const record::Journal& journal = worker_.journal();
  const Status status{.rank = worker_.rank(),
                      .steps = first_ + journal.steps,
                      .samples = journal.samples,
                      .loss = losses_.take().mean(),
                      .computing = journal.computing,
                      .waiting = journal.waiting,
                      .done = done_};
  letters_.send(0, Letters::Kind::kStatus, ByteWriter().put(status).take());
}

void StatusReports::show() {
  for (Status& status : latest_) status.lost = worker_.lost(status.rank);
  program_.show(latest_);
}

}  // namespace starling::session
