#include "starling/torch/speed_emulator.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
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

std::optional<Time> death_of(const cluster::Cluster& cluster, Rank worker) {
  for (const cluster::Fault& fault : cluster.faults) {
    if (fault.kind == cluster::Fault::Kind::kKill && fault.subject == worker) return fault.from;
  }
  return {};
}

// Sleeps until times that count from where the caller is at `now`.
class Sleeper {
 public:
  explicit Sleeper(Time now) : now_(now) {}
  void sleep_until(Time due) const {
    const Duration left = due - now_ - (Clock::now() - entered_);
    if (left > Duration(0)) std::this_thread::sleep_for(left);
  }

 private:
  using Clock = std::chrono::steady_clock;
  Time now_;
  Clock::time_point entered_ = Clock::now();
};

}  // namespace

SpeedEmulator::SpeedEmulator(const cluster::Cluster& cluster, Rank worker, std::optional<Duration> step,
                             Random random, const std::vector<strategy::Section>& sections)
    : clock_(cluster::SpeedProfile(cluster, worker), sections),
      jitter_(cluster.workers.at(static_cast<std::size_t>(worker)).jitter,
              cluster.workers[static_cast<std::size_t>(worker)].jitter_span, random),
      dies_(death_of(cluster, worker)),
      step_(step),
      worker_(worker) {}

void SpeedEmulator::begin(Time now, std::uint64_t step) {
  if (dies_ && now >= *dies_) kill(getpid(), SIGKILL);
  if (step == number_) now = finished_;
  number_ = step;
  begun_ = now;
  waited_ = {};
  part_ = 1;
  gradients_.clear();
  factor_ = jitter_.of_piece(step);
  if (step_) clock_.begin(now, seconds_of(*step_) * factor_);
}

void SpeedEmulator::compute_part(double of_batch) {
  part_ = of_batch;
  if (step_) clock_.begin(begun_ + waited_, seconds_of(*step_) * factor_ * part_);
}

void SpeedEmulator::waited(Duration time) {
  waited_ += time;
  clock_.stand_still(time);
}

void SpeedEmulator::forward(std::span<const std::size_t> sections, Time now) {
  if (!step_) return;
  Time due = now;
  for (const std::size_t section : sections) due = clock_.forward(section);
  Sleeper(now).sleep_until(due);
}

void SpeedEmulator::backward(std::size_t section, Time now) {
  gradients_.push_back({section, step_ ? clock_.backward(section) : now});
  for (; !gradients_.empty() && gradients_.front().due <= now; gradients_.pop_front()) {
    pass_(gradients_.front().section);
  }
}

void SpeedEmulator::end(Time now) {
  const Duration took = now - begun_ - waited_;
  if (!step_) clock_.begin(begun_ + waited_, seconds_of(took) * factor_);
  const Time due = clock_.end();
  const Sleeper sleeper(now);
  for (; !gradients_.empty(); gradients_.pop_front()) {
    sleeper.sleep_until(gradients_.front().due);
    pass_(gradients_.front().section);
  }
  sleeper.sleep_until(due);
  finished_ = std::max(now, due);
  ++steps_;
  if (!step_ || now - due < kTolerance) return;
  ++late_;
  late_work_ += took;
}

std::string SpeedEmulator::complaint() const {
  if (static_cast<double>(late_) <= kTolerated * static_cast<double>(steps_)) return "";
  const auto percent = std::lround(100.0 * static_cast<double>(late_) / static_cast<double>(steps_));
  return concat("worker ", worker_, ": the pace is too short for this machine: ", percent,
                " % of its steps took longer than meant, ",
                format_duration(late_work_ / static_cast<Duration::rep>(late_)), " each on average");
}

}  // namespace starling::torch
