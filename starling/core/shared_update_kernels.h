// The loops of shared_update.h, for the instruction set this file is compiled for. See combine_lanes.h for
// what may be used here.
#pragma once

#include "starling/core/combine_lanes.h"

namespace starling::detail {
namespace {  // NOLINT(google-build-namespaces): see combine_lanes.h

// How elements of the shared vector are read and written, kWidth at a time.
struct SharedVectors {
  using Value = FloatVec;
  static constexpr std::size_t kWidth = FloatLane::kWidth;
  static Value load(const float* from) { return FloatLane::load(reinterpret_cast<const std::byte*>(from)); }
  static void store(float* to, Value value) { FloatLane::store(reinterpret_cast<std::byte*>(to), value); }
};

struct SharedElements {
  using Value = float;
  static constexpr std::size_t kWidth = 1;
  static Value load(const float* from) {
    float value = 0;
    __atomic_load(from, &value, __ATOMIC_RELAXED);
    return value;
  }
  static void store(float* to, Value value) { __atomic_store(to, &value, __ATOMIC_RELAXED); }
};

#if defined(__SANITIZE_THREAD__)
using SharedBulk = SharedElements;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
using SharedBulk = SharedElements;
#else
using SharedBulk = SharedVectors;
#endif
#else
using SharedBulk = SharedVectors;
#endif

template <class Update>
void update_all(std::size_t count, const Update& update) {
  std::size_t i = 0;
  for (; i + SharedBulk::kWidth <= count; i += SharedBulk::kWidth) update(SharedBulk(), i);
  for (; i < count; ++i) update(SharedElements(), i);
}

void elastic_step_floats(float* centre, float* x, float alpha, std::size_t count) {
  update_all(count, [=](auto access, std::size_t i) {
    const auto was = access.load(centre + i), own = access.load(x + i);
    const auto difference = alpha * (own - was);
    access.store(x + i, own - difference);
    access.store(centre + i, was + difference);
  });
}

void elastic_difference_floats(float* centre, const float* x, float alpha, float* difference,
                               std::size_t count) {
  update_all(count, [=](auto access, std::size_t i) {
    const auto was = access.load(centre + i);
    const auto moved = alpha * (access.load(x + i) - was);
    access.store(difference + i, moved);
    access.store(centre + i, was + moved);
  });
}

// Nothing is lost to rounding where no other rank has written: so a rank alone trains as without the others.
void merge_change_floats(float* shared, float* x, float* before, std::size_t count) {
  update_all(count, [=](auto access, std::size_t i) {
    const auto now = access.load(shared + i), own = access.load(x + i), was = access.load(before + i);
    const auto moved = now + (own - was);
    const auto merged = now == was ? own : moved;
    access.store(shared + i, merged);
    access.store(x + i, merged);
    access.store(before + i, merged);
  });
}

}  // namespace
}  // namespace starling::detail
