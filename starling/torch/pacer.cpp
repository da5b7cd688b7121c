#include "starling/torch/pacer.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::torch {

namespace {

// Late by less than this, or in fewer steps than this share, is the scheduler's doing.
constexpr Duration kTolerance = std::chrono::milliseconds(1);
constexpr double kTolerated = 0.05;

std::optional<Time> death_of(const sim::Cluster& cluster, Rank worker) {
  for (const sim::Fault& fault : cluster.faults) {
    if (fault.kind == sim::Fault::Kind::kKill && fault.subject == worker) return fault.from;
  }
  return {};
}

}  // namespace

Pacer::Pacer(const sim::Cluster& cluster, Rank worker, std::optional<Duration> step, Random random)
    : pace_(cluster, worker),
      jitter_(cluster.workers.at(static_cast<std::size_t>(worker)).jitter),
      dies_(death_of(cluster, worker)),
      step_(step),
      random_(random),
      worker_(worker) {}

void Pacer::begin(Time now) {
  if (dies_ && now >= *dies_) kill(getpid(), SIGKILL);
  begun_ = now;
}

void Pacer::end(Time now) {
  const double factor = sim::draw(jitter_, random_);
  const Duration work = step_.value_or(now - begun_);
  const Time due = pace_.finish(begun_, seconds_of(work) * factor);
  ++steps_;
  if (now < due) return std::this_thread::sleep_for(due - now);
  if (!step_ || now - due < kTolerance) return;
  ++late_;
  late_work_ += now - begun_;
}

std::string Pacer::complaint() const {
  if (static_cast<double>(late_) <= kTolerated * static_cast<double>(steps_)) return "";
  const auto percent = std::lround(100.0 * static_cast<double>(late_) / static_cast<double>(steps_));
  return concat("worker ", worker_, ": the pace is too short for this machine: ", percent,
                " % of its steps took longer than meant, ",
                format_duration(late_work_ / static_cast<Duration::rep>(late_)), " each on average");
}

}  // namespace starling::torch
