// A connection between simulated machines, and those that have a name.
#pragma once

#include <span>
#include <string_view>

#include "starling/core/types.h"

namespace starling::sim {

struct Link {
  double bytes_per_second = 1.25e9;  // each direction
  Duration latency{};

  bool operator==(const Link&) const = default;
};

struct LinkPreset {
  std::string_view name;
  Link link;
};

// 1gbe, 10gbe, 25gbe, 100gib, nvlink, shm.
std::span<const LinkPreset> link_presets();

// The name of a preset, or bandwidth and latency: "40gbit/5us", "3e9/10us". The bandwidth is in gbit, mbit,
// gbyte or mbyte (powers of 1000) a second, without a unit in bytes a second.
// Throws InvalidArgument naming `what` and what there is.
Link parse_link(std::string_view text, std::string_view what);

}  // namespace starling::sim
