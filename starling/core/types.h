// The words every layer shares: ranks, groups, tags and time.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace starling {

using Rank = int;

// An ordered list of distinct ranks. Forming one costs nothing and needs no message.
using Group = std::vector<Rank>;

// Names one conversation between two ranks; messages of one (from, to, tag) arrive in order.
using Tag = std::uint64_t;

// Both schedulers count time from their own start, in nanoseconds; only the loop's clock is real.
using Duration = std::chrono::nanoseconds;
struct Clock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<Clock, Duration>;
  static constexpr bool is_steady = true;
};
using Time = Clock::time_point;

// "No limit". Far beyond any run, and far enough from the type's end that adding to it is safe.
inline constexpr Duration kForever = Duration::max() / 4;

inline double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace starling
