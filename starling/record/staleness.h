// How stale the gradients of a run were: how many updates the model had seen since the copy that a gradient
// was computed from, when it was applied.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace starling::record {

// A histogram in constant memory: small values have a bucket each, from kExact on there is one for every
// power of two.
struct Staleness {
  static constexpr std::size_t kExact = 32;
  static constexpr std::size_t kBuckets = kExact + 64 - std::bit_width(kExact - 1);

  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t max = 0;
  std::array<std::uint64_t, kBuckets> buckets{};

  void note(std::uint64_t updates) {
    ++count;
    sum += updates;
    max = std::max(max, updates);
    ++buckets[bucket_of(updates)];
  }
  void merge(const Staleness& other) {
    count += other.count;
    sum += other.sum;
    max = std::max(max, other.max);
    for (std::size_t i = 0; i < kBuckets; ++i) buckets[i] += other.buckets[i];
  }
  double mean() const { return count == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(count); }

  // A bound that at least `percent` of 100 values keep: exact below kExact, else the largest value that the
  // bucket may hold, or the maximum.
  std::uint64_t percentile(unsigned percent) const {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      below += buckets[i];
      if (static_cast<double>(below) * 100 >= static_cast<double>(count) * percent)
        return std::min(last_of(i), max);
    }
    return max;
  }

  static constexpr std::size_t bucket_of(std::uint64_t updates) {
    if (updates < kExact) return static_cast<std::size_t>(updates);
    return kExact + static_cast<std::size_t>(std::bit_width(updates) - std::bit_width(kExact));
  }
  // The smallest and the largest value of a bucket.
  static constexpr std::uint64_t first_of(std::size_t bucket) {
    return bucket < kExact ? bucket : std::uint64_t{kExact} << (bucket - kExact);
  }
  static constexpr std::uint64_t last_of(std::size_t bucket) {
    return bucket < kExact ? bucket : 2 * (first_of(bucket) - 1) + 1;
  }
};

}  // namespace starling::record
