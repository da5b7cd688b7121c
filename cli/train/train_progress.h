// How a training goes, while it goes: one line that is written over and over on a terminal, a line now and
// then elsewhere.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/common/progress_line.h"
#include "cli/train/train_plan.h"
#include "starling/session/callbacks.h"

namespace starling::cli {

class TrainProgress {
 public:
  TrainProgress(const TrainPlan& plan, bool wanted);
  void show(const std::vector<session::Progress>& all, Duration elapsed);
  // Nothing more is shown.
  void end() { line_.reset(); }

 private:
  const TrainPlan& plan_;
  bool wanted_;
  bool terminal_;
  std::optional<ProgressLine> line_;
  Duration next_plain_{};
};

}  // namespace starling::cli
