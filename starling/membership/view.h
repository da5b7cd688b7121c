// A view: the workers that take part in a run, and the number of the agreement on them, its epoch.
#pragma once

#include <cstdint>

#include "starling/core/types.h"

namespace starling::membership {

struct View {
  std::uint64_t epoch = 1;
  Group members;  // ascending

  bool operator==(const View&) const = default;
};

bool contains(const Group& group, Rank rank);
inline bool contains(const View& view, Rank rank) { return contains(view.members, rank); }

}  // namespace starling::membership
