// A machine's connection to the others, simulated or emulated, and the presets by name.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "starling/core/types.h"

namespace starling::transport {

struct Link {
  double bytes_per_second = 1.25e9;  // each direction
  Duration latency{};

  // How long a message of that size keeps one direction busy; at most kForever.
  Duration time_for(std::size_t bytes) const;

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
// Throws InvalidArgument naming `what` and the presets.
Link parse_link(std::string_view text, std::string_view what);

// The form that parse_link reads back exactly: a preset's name, or such as "3e+09/10000ns".
std::string text_of(const Link& link);

}  // namespace starling::transport
