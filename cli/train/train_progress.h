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
  // Nothing more comes.
  void end() { line_.reset(); }

 private:
  const TrainPlan& plan_;
  bool wanted_;
  bool terminal_;
  std::optional<ProgressLine> line_;
  Duration next_plain_{};
};

// "epoch 1.3 of 3, loss 0.234, 12345 samples/s, slowest worker 0: others wait 35 % of their time"
std::string progress_text(const std::vector<session::Progress>& all, Duration elapsed,
                          std::size_t samples_per_epoch, std::optional<std::uint64_t> epochs);

}  // namespace starling::cli
