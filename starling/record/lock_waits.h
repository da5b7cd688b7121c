// The time that a rank spent waiting for locks, such as those of a centre that workers of one host share.
#pragma once

#include <cstdint>

#include "starling/core/types.h"

namespace starling::record {

struct LockWaits {
  std::uint64_t count = 0;      // locks taken
  std::uint64_t contended = 0;  // of these, the ones that another rank held
  Duration total{};

  void note(Duration wait) {
    ++count;
    if (wait > Duration{}) ++contended;
    total += wait;
  }
  void merge(const LockWaits& other) {
    count += other.count;
    contended += other.contended;
    total += other.total;
  }
};

}  // namespace starling::record
