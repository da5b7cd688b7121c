// Balanced cuts of a range into contiguous slices.
#pragma once

#include <cassert>
#include <cstddef>

namespace starling {

struct Slice {
  std::size_t begin = 0;
  std::size_t end = 0;

  constexpr std::size_t size() const { return end - begin; }
  constexpr bool empty() const { return begin == end; }
  friend constexpr bool operator==(const Slice&, const Slice&) = default;
};

// Slice `index` of [0, count) cut into `parts`: sizes differ by at most one and the first count % parts
// slices are the larger ones. Slices are empty when there are more parts than elements.
constexpr Slice slice_of(std::size_t count, std::size_t parts, std::size_t index) {
  assert(index < parts);
  const std::size_t small = count / parts, larger = count % parts;
  const std::size_t begin = index * small + (index < larger ? index : larger);
  return {begin, begin + small + (index < larger ? 1 : 0)};
}

}  // namespace starling
