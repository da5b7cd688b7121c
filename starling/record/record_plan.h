// How much of a run is recorded, and within which limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace starling::record {

enum class RecordMode : std::uint8_t {
  kFull,     // sums of the whole run, and spans within a limit
  kSummary,  // sums only
  kOff,      // steps, samples and traffic only
};

struct RecordPlan {
  RecordMode mode = RecordMode::kFull;
  std::uint64_t spans = 0;  // most spans of a rank that the run keeps; 0: chosen by the number of ranks

  bool operator==(const RecordPlan&) const = default;
};

// "full", "full:SPANS", "summary" or "off". InvalidArgument naming `what`.
RecordPlan parse_record_plan(std::string_view text, std::string_view what);
std::string text_of(const RecordPlan& plan);

// The fewest and the most spans of a rank that may be asked for.
inline constexpr std::uint64_t kFewestSpans = 64;
inline constexpr std::uint64_t kMostSpans = std::uint64_t{1} << 32;

// Spans that a run of so many ranks keeps of each. If the plan does not say, a rank has at most 2^18 (15 MB),
// and all ranks together 2^21, unless they are so many that each would have less than 1024.
std::size_t span_limit(const RecordPlan& plan, std::size_t ranks);
// A rank that has so many new spans hands them over.
std::size_t part_size(std::size_t span_limit);

}  // namespace starling::record
