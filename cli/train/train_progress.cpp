#include "cli/train/train_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "starling/torch/sample_count.h"

namespace starling::cli {

using session::Progress;

namespace {

constexpr Duration kPlainEvery = std::chrono::seconds(5);
constexpr double kNotable = 0.05;  // of the others' time

double step_seconds(const Progress& status) {
  return status.steps == 0 ? 0 : seconds_of(status.computing) / static_cast<double>(status.steps);
}

std::string slowest_text(const std::vector<Progress>& all, Duration elapsed) {
  const Progress* slowest = nullptr;
  double waited = 0;
  for (const Progress& status : all) {
    if (slowest == nullptr || step_seconds(status) > step_seconds(*slowest)) slowest = &status;
    waited += seconds_of(status.waiting);
  }
  if (slowest == nullptr || all.size() < 2 || elapsed <= Duration{}) return "";
  const double share =
      (waited - seconds_of(slowest->waiting)) / (static_cast<double>(all.size() - 1) * seconds_of(elapsed));
  if (share < kNotable) return "";
  return fmt::format(", slowest: worker {}, the others wait {:.0f} % of their time", slowest->rank,
                     100 * share);
}

}  // namespace

std::string progress_text(const std::vector<Progress>& all, Duration elapsed, std::size_t samples_per_epoch,
                          std::optional<std::uint64_t> epochs) {
  std::uint64_t samples = 0;
  double loss = 0;
  int known = 0, lost = 0;
  for (const Progress& status : all) {
    samples += status.samples;
    if (std::isfinite(status.loss)) {
      loss += status.loss;
      ++known;
    }
    lost += status.lost ? 1 : 0;
  }
  const double done = static_cast<double>(samples) / static_cast<double>(samples_per_epoch);
  std::string text = fmt::format("{:.1f} s, epoch {:.2f}{}", seconds_of(elapsed), done,
                                 epochs ? fmt::format(" of {}", *epochs) : "");
  if (known > 0) text += fmt::format(", loss {:.4g}", loss / known);
  if (elapsed > Duration{})
    text += fmt::format(", {:.0f} samples/s", static_cast<double>(samples) / seconds_of(elapsed));
  text += slowest_text(all, elapsed);
  if (lost > 0) text += fmt::format(", {} lost", lost);
  return text;
}

TrainProgress::TrainProgress(const TrainPlan& plan, bool wanted)
    : plan_(plan), wanted_(wanted), terminal_(isatty(STDERR_FILENO) == 1) {
  if (wanted && terminal_) line_.emplace(true);
}

void TrainProgress::show(const std::vector<Progress>& all, Duration elapsed) {
  if (!wanted_) return;
  const auto text = [&] {
    return progress_text(all, elapsed, torch::training_samples(*plan_.setting.data), plan_.setting.epochs);
  };
  if (line_) return line_->show(text());
  if (elapsed < next_plain_ + kPlainEvery) return;
  next_plain_ = elapsed;
  std::fprintf(stderr, "%s\n", text().c_str());
}

}  // namespace starling::cli
