// Loss and samples of the steps since the last query.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>

#include "starling/strategy/worker.h"

namespace starling::session {

struct LossSum {
  double loss = 0;  // by samples
  std::uint64_t samples = 0;

  void add(const LossSum& other) {
    loss += other.loss;
    samples += other.samples;
  }
  // NaN if there were no samples.
  double mean() const {
    if (samples == 0) return std::numeric_limits<double>::quiet_NaN();
    return loss / static_cast<double>(samples);
  }
};

class LossAverage {
 public:
  // `step`: steps that are not counted.
  explicit LossAverage(std::uint64_t step) : counted_(step) {}

  // Counts the last step of the worker, once.
  void count(const strategy::Worker& worker) {
    if (worker.step() == counted_) return;
    counted_ = worker.step();
    if (worker.samples() == 0) return;  // its loss is NaN
    sum_.add({worker.loss() * static_cast<double>(worker.samples()), worker.samples()});
  }
  LossSum take() { return std::exchange(sum_, {}); }
  const LossSum& sum() const { return sum_; }

 private:
  std::uint64_t counted_;
  LossSum sum_;
};

}  // namespace starling::session
