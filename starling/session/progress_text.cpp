#include "starling/session/progress_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace starling::session {

namespace {

constexpr double kNotable = 0.05;  // of the others' time

struct Totals {
  std::uint64_t samples = 0;
  std::uint64_t steps = 0;  // of the worker that has made the fewest, those that are lost apart
  double loss = 0;
  int known = 0;  // workers whose loss is known
  int lost = 0;
};

Totals totals_of(const std::vector<Progress>& workers) {
  Totals totals;
  std::optional<std::uint64_t> fewest;
  for (const Progress& worker : workers) {
    totals.samples += worker.samples;
    totals.lost += worker.lost ? 1 : 0;
    if (!worker.lost) fewest = std::min(fewest.value_or(worker.steps), worker.steps);
    if (!std::isfinite(worker.loss)) continue;
    totals.loss += worker.loss;
    ++totals.known;
  }
  totals.steps = fewest.value_or(0);
  return totals;
}

double step_seconds(const Progress& worker) {
  return worker.steps == 0 ? 0 : seconds_of(worker.computing) / static_cast<double>(worker.steps);
}

std::string slowest_text(const std::vector<Progress>& workers, Duration elapsed) {
  const Progress* slowest = nullptr;
  double waited = 0;
  for (const Progress& worker : workers) {
    if (slowest == nullptr || step_seconds(worker) > step_seconds(*slowest)) slowest = &worker;
    waited += seconds_of(worker.waiting);
  }
  if (slowest == nullptr || workers.size() < 2 || elapsed <= Duration{}) return "";
  const double share = (waited - seconds_of(slowest->waiting)) /
                       (static_cast<double>(workers.size() - 1) * seconds_of(elapsed));
  if (share < kNotable) return "";
  return fmt::format(", slowest: worker {}, the others wait {:.0f} % of their time", slowest->rank,
                     100 * share);
}

// The share of the way that is done; 0: it is not known.
double share_done(const Totals& totals, Duration elapsed, const ProgressGoal& goal) {
  double share = 0;
  if (goal.steps) share = static_cast<double>(totals.steps) / static_cast<double>(*goal.steps);
  if (goal.time) share = std::max(share, seconds_of(elapsed) / seconds_of(*goal.time));
  if (goal.epochs && goal.samples_per_epoch > 0) {
    const double all = static_cast<double>(*goal.epochs) * static_cast<double>(goal.samples_per_epoch);
    share = std::max(share, static_cast<double>(totals.samples) / all);
  }
  return std::min(share, 1.0);
}

std::string time_left_text(double share, Duration elapsed) {
  if (share <= 0) return "";
  const double left = seconds_of(elapsed) * (1 - share) / share;
  const auto whole = static_cast<std::uint64_t>(std::llround(left));
  const std::string text = whole < 120    ? fmt::format("{} s", whole)
                           : whole < 7200 ? fmt::format("{} min", whole / 60)
                                          : fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
  return fmt::format(" ({:.0f} %, {} left)", 100 * share, text);
}

std::string position_text(const Totals& totals, const ProgressGoal& goal) {
  if (goal.samples_per_epoch == 0) {
    return fmt::format("step {}{}", totals.steps, goal.steps ? fmt::format(" of {}", *goal.steps) : "");
  }
  const double done = static_cast<double>(totals.samples) / static_cast<double>(goal.samples_per_epoch);
  return fmt::format("epoch {:.2f}{}", done, goal.epochs ? fmt::format(" of {}", *goal.epochs) : "");
}

}  // namespace

std::string progress_text(const std::vector<Progress>& workers, Duration elapsed, const ProgressGoal& goal) {
  const Totals totals = totals_of(workers);
  std::string text = fmt::format("{:.1f} s, {}{}", seconds_of(elapsed), position_text(totals, goal),
                                 time_left_text(share_done(totals, elapsed, goal), elapsed));
  if (totals.known > 0) text += fmt::format(", loss {:.4g}", totals.loss / totals.known);
  if (elapsed > Duration{})
    text += fmt::format(", {:.0f} samples/s", static_cast<double>(totals.samples) / seconds_of(elapsed));
  text += slowest_text(workers, elapsed);
  if (totals.lost > 0) text += fmt::format(", {} lost", totals.lost);
  return text;
}

}  // namespace starling::session
