#include "starling/strategy/batch/speed_estimate.h"

#include <algorithm>
#include <cmath>

namespace starling::strategy {

namespace {

constexpr double kWindow = 64;            // steps, about
constexpr double kDeviations = 1.5;       // that chance explains, three times in a row
constexpr double kSpeedTolerance = 0.04;  // of the estimate, besides

}  // namespace

void SpeedEstimate::add(double seconds, double samples) {
  if (!(samples > 0) || !(seconds > 0)) return;
  const Step step{seconds, samples};
  recent_[steps_++ % kRecent] = step;
  if (!has_changed()) return count(step);
  seconds_ = samples_ = squares_ = count_ = 0;
  for (const Step& recent : recent_) count(recent);
}

bool SpeedEstimate::has_changed() const {
  if (count_ < static_cast<double>(kRecent)) return false;
  const double scatter = std::sqrt(squares_ / count_);
  double least = INFINITY, most = -INFINITY;
  for (const Step& step : recent_) {
    const double difference = step.seconds / step.samples / seconds() - 1;
    least = std::min(least, difference);
    most = std::max(most, difference);
  }
  const double explained = kDeviations * scatter + kSpeedTolerance;
  return least > explained || most < -explained;
}

void SpeedEstimate::count(const Step& step) {
  const double fade = count_ < kWindow ? 1 : 1 - 1 / kWindow;
  seconds_ = seconds_ * fade + step.seconds;
  samples_ = samples_ * fade + step.samples;
  count_ = count_ * fade + 1;
  const double difference = step.seconds / step.samples / seconds() - 1;
  squares_ = squares_ * fade + difference * difference;
}

}  // namespace starling::strategy
