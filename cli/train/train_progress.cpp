#include "cli/train/train_progress.h"

#include <unistd.h>

#include <cstdio>

#include "starling/session/progress_text.h"
#include "starling/torch/sample_count.h"

namespace starling::cli {
namespace {

constexpr Duration kPlainEvery = std::chrono::seconds(5);

session::ProgressGoal goal_of(const torch::TrainOptions& options) {
  return {.steps = options.steps,
          .time = options.until,
          .samples_per_epoch = torch::training_samples(*options.data),
          .epochs = options.epochs};
}

}  // namespace

TrainProgress::TrainProgress(const TrainPlan& plan, bool wanted)
    : plan_(plan), wanted_(wanted), terminal_(isatty(STDERR_FILENO) == 1) {
  if (wanted && terminal_) line_.emplace(true);
}

void TrainProgress::show(const std::vector<session::Progress>& all, Duration elapsed) {
  if (!wanted_) return;
  const auto text = [&] { return session::progress_text(all, elapsed, goal_of(plan_.setting)); };
  if (line_) return line_->show(text());
  if (elapsed < next_plain_ + kPlainEvery) return;
  next_plain_ = elapsed;
  std::fprintf(stderr, "%s\n", text().c_str());
}

}  // namespace starling::cli
