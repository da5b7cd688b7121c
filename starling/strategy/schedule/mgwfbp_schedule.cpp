#include "starling/strategy/schedule/mgwfbp_schedule.h"

#include <algorithm>

namespace starling::strategy {

using collective::Buckets;
using collective::LinkCost;

// The first step differs from the others.
void MgwfbpSchedule::gradient_ready(std::size_t section) {
  if (!merged_ && step_ != self().step()) {
    if (step_ != 0) ++measured_;
    step_ = self().step();
    first_ = self().now();
  }
  if (!merged_ && measured_ > 0) ready_[section] += seconds_of(self().now() - *first_);
  DdpSchedule::gradient_ready(section);
}

Task<Buckets> MgwfbpSchedule::replan() {
  if (measured_ <= kMeasured) co_return plan(setting().fusion.bytes / sizeof(float));
  merged_ = true;
  const LinkCost cost = co_await measure_cost();
  for (double& seconds : ready_) seconds /= kMeasured;
  const Data times{std::span<double>(ready_)};
  co_await agreed().all_reduce(times, collective::Reduction::mean());
  co_return collective::merge_buckets(places(), ready_, cost);
}

// The cost on the slowest worker, so that all have the same.
Task<LinkCost> MgwfbpSchedule::measure_cost() {
  constexpr std::size_t kSmall = 256, kLarge = 1 << 16;  // elements
  const double small = co_await time_of(kSmall);
  const double large = co_await time_of(kLarge);
  LinkCost cost;
  cost.beta = std::max(0.0, large - small) / static_cast<double>((kLarge - kSmall) * sizeof(float));
  cost.alpha = std::max(0.0, small - static_cast<double>(kSmall * sizeof(float)) * cost.beta);
  const Data both{std::span<double>(&cost.alpha, 2)};
  co_await agreed().all_reduce(both, collective::Reduction::max());
  co_return cost;
}

// The shortest of several, which all begin together.
Task<double> MgwfbpSchedule::time_of(std::size_t elements) {
  constexpr int kTimes = 3;
  const Buffer scratch = self().allocate(elements);
  double least = 0;
  for (int i = 0; i < kTimes; ++i) {
    co_await agreed().barrier();
    const Time begin = self().now();
    co_await agreed().all_reduce(scratch.data, collective::Reduction::sum(), setting().algorithm);
    const double seconds = seconds_of(self().now() - begin);
    least = i == 0 ? seconds : std::min(least, seconds);
  }
  co_return least;
}

}  // namespace starling::strategy
