#include "starling/transport/link.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::transport {
namespace {

using std::chrono::microseconds;

constexpr LinkPreset kPresets[] = {
    {"1gbe", {1.25e8, microseconds(50)}},   {"10gbe", {1.25e9, microseconds(50)}},
    {"25gbe", {3.125e9, microseconds(30)}}, {"100gib", {12.5e9, microseconds(2)}},
    {"nvlink", {300e9, microseconds(1)}},   {"shm", {10e9, microseconds(1)}},
};

struct Unit {
  std::string_view name;
  double bytes;
};

constexpr Unit kUnits[] = {{"gbit", 1.25e8}, {"mbit", 1.25e5}, {"gbyte", 1e9}, {"mbyte", 1e6}, {"", 1}};

double parse_bandwidth(std::string_view text, std::string_view what) {
  if (const std::optional<Quantity> read = read_quantity(text)) {
    for (const Unit& unit : kUnits) {
      const double bytes = read->number * unit.bytes;
      if (unit.name == read->unit && bytes >= 1 && bytes <= 1e15) return bytes;
    }
  }
  throw InvalidArgument(concat(
      what, ": '", text, "' is not a bandwidth (1 to 1e15 bytes a second; units: gbit, mbit, gbyte, mbyte)"));
}

[[noreturn]] void refuse_name(std::string_view text, std::string_view what) {
  std::vector<std::string_view> names;
  for (const LinkPreset& preset : kPresets) names.push_back(preset.name);
  const std::string_view near = nearest(text, names);
  const std::string hint = near.empty() ? "" : concat(" (did you mean '", near, "'?)");
  throw InvalidArgument(concat(what, ": '", text, "' is not a network", hint,
                               "; allowed: ", join_texts(names), " or BANDWIDTH/LATENCY such as 40gbit/5us"));
}

}  // namespace

// Rounded up: nothing is ever faster than its link.
Duration Link::time_for(std::size_t bytes) const {
  const double nanoseconds = std::ceil(static_cast<double>(bytes) / bytes_per_second * 1e9);
  if (!(nanoseconds < static_cast<double>(kForever.count()))) return kForever;
  return Duration(static_cast<Duration::rep>(nanoseconds));
}

std::span<const LinkPreset> link_presets() { return kPresets; }

Link parse_link(std::string_view text, std::string_view what) {
  for (const LinkPreset& preset : kPresets) {
    if (preset.name == text) return preset.link;
  }
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) refuse_name(text, what);
  return {parse_bandwidth(text.substr(0, slash), what), parse_duration(text.substr(slash + 1), what)};
}

std::string text_of(const Link& link) {
  for (const LinkPreset& preset : kPresets) {
    if (preset.link == link) return std::string(preset.name);
  }
  char digits[32];
  const char* const end = std::to_chars(digits, digits + sizeof digits, link.bytes_per_second).ptr;
  return concat(std::string_view(digits, static_cast<std::size_t>(end - digits)), "/", link.latency.count(),
                "ns");
}

}  // namespace starling::transport
