#include "starling/torch/emulated_step.h"

#include <algorithm>
#include <utility>

namespace starling::torch {

namespace {

constexpr double kForward = 1.0 / 3, kBackward = 2.0 / 3;
constexpr double kLeast = 0.01;  // of the mean section: also a tiny one is an operation of its own

}  // namespace

EmulatedStep::EmulatedStep(cluster::SpeedProfile pace, const std::vector<strategy::Section>& sections)
    : pace_(std::move(pace)) {
  double elements = 0, sum = 0;
  for (const strategy::Section& section : sections) elements += static_cast<double>(section.count);
  const double least = kLeast * elements / static_cast<double>(std::max<std::size_t>(1, sections.size()));
  for (const strategy::Section& section : sections) {
    sum += shares_.emplace_back(std::max(least, static_cast<double>(section.count)));
  }
  for (double& share : shares_) share /= sum;
}

void EmulatedStep::begin(Time now, double work_seconds) {
  time_ = now;
  work_seconds_ = work_seconds;
  forward_done_.assign(shares_.size(), false);
  backward_done_.assign(shares_.size(), false);
  forward_left_ = backward_left_ = 1;
}

void EmulatedStep::stand_still(Duration time) {
  if (time_ < Time(kForever)) time_ += time;
}

Time EmulatedStep::go_on(double share) {
  if (time_ < Time(kForever)) time_ = pace_.finish(time_, work_seconds_ * share);
  return time_;
}

// The rest shrinks to 0, not to a rounding error.
Time EmulatedStep::take(std::vector<bool>& done, double& left, std::size_t section) {
  if (done[section]) return time_;
  done[section] = true;
  const double share = std::min(left, shares_[section]);
  left -= share;
  return go_on((&left == &forward_left_ ? kForward : kBackward) * share);
}

Time EmulatedStep::forward(std::size_t section) { return take(forward_done_, forward_left_, section); }

Time EmulatedStep::backward(std::size_t section) {
  go_on(kForward * std::exchange(forward_left_, 0));
  return take(backward_done_, backward_left_, section);
}

Time EmulatedStep::end() {
  return go_on(kForward * std::exchange(forward_left_, 0) + kBackward * std::exchange(backward_left_, 0));
}

}  // namespace starling::torch
