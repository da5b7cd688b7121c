// The loss over time, in a limited number of points.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "starling/record/run_record.h"

namespace starling::record {

class LossHistory {
 public:
  // Beyond so many points every second one goes, and of those to come too.
  explicit LossHistory(std::size_t most = 4096) : most_(most) {}

  void add(const LossPoint& point) {
    diverged_ = diverged_ || !std::isfinite(point.loss);
    last_ = point;
    if (count_++ % stride_ != 0) return;
    points_.push_back(point);
    last_.reset();
    if (points_.size() >= most_) thin();
  }

  bool diverged() const { return diverged_; }
  // With the last one. The history is empty afterwards.
  std::vector<LossPoint> take() {
    if (last_) points_.push_back(*last_);
    last_.reset();
    return std::exchange(points_, {});
  }

 private:
  void thin() {
    if (points_.size() % 2 == 0) last_ = points_.back();
    for (std::size_t i = 0; 2 * i < points_.size(); ++i) points_[i] = points_[2 * i];
    points_.resize((points_.size() + 1) / 2);
    stride_ *= 2;
  }

  std::size_t most_;
  std::uint64_t stride_ = 1;
  std::uint64_t count_ = 0;
  bool diverged_ = false;
  std::vector<LossPoint> points_;
  std::optional<LossPoint> last_;  // not among `points_`
};

}  // namespace starling::record
