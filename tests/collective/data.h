// Data for collectives out of test vectors.
#pragma once

#include <span>
#include <vector>

#include "starling/collective/collective.h"
#include "starling/core/random.h"

namespace starling::testing {

template <class T>
collective::Data data_of(std::vector<T>& values) {
  return collective::Data(std::span<T>(values));
}

// The one element that belongs to a rank.
template <class T>
collective::Data element_of(std::vector<T>& values, Rank rank) {
  return collective::Data(std::span<T>(&values[static_cast<std::size_t>(rank)], 1));
}

// The vector that belongs to a rank.
template <class T>
collective::Data vector_of(std::vector<std::vector<T>>& vectors, Rank rank) {
  return data_of(vectors[static_cast<std::size_t>(rank)]);
}

using Vectors = std::vector<std::vector<float>>;

// Values whose sums depend on the order.
inline Vectors rough_values(std::size_t members, std::size_t count) {
  Vectors values(members, std::vector<float>(count));
  Random random(members * 1000 + count);
  for (auto& vector : values) {
    for (float& value : vector) value = static_cast<float>(random.normal() * 1e3);
  }
  return values;
}

}  // namespace starling::testing
