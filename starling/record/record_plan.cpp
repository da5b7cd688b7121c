#include "starling/record/record_plan.h"

#include <algorithm>

#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::record {
namespace {

constexpr std::size_t kMostOfRank = std::size_t{1} << 18;
constexpr std::size_t kMostOfRun = std::size_t{1} << 21;
constexpr std::size_t kLeastOfRank = 1024;
constexpr std::size_t kPartsInLimit = 32;
constexpr std::string_view kFullWithLimit = "full:";

}  // namespace

RecordPlan parse_record_plan(std::string_view text, std::string_view what) {
  if (text == "full") return {};
  if (text == "summary") return {RecordMode::kSummary};
  if (text == "off") return {RecordMode::kOff};
  if (text.starts_with(kFullWithLimit)) {
    const std::string number(text.substr(kFullWithLimit.size()));
    return {RecordMode::kFull,
            static_cast<std::uint64_t>(parse_integer(number, what, kFewestSpans, kMostSpans))};
  }
  throw InvalidArgument(concat(what, ": '", text, "'; allowed: full, full:SPANS, summary, off"));
}

std::string text_of(const RecordPlan& plan) {
  if (plan.mode == RecordMode::kSummary) return "summary";
  if (plan.mode == RecordMode::kOff) return "off";
  return plan.spans == 0 ? "full" : concat(kFullWithLimit, plan.spans);
}

std::size_t span_limit(const RecordPlan& plan, std::size_t ranks) {
  if (plan.spans > 0) return plan.spans;
  return std::clamp(kMostOfRun / std::max<std::size_t>(ranks, 1), kLeastOfRank, kMostOfRank);
}

std::size_t part_size(std::size_t span_limit) { return std::max<std::size_t>(span_limit / kPartsInLimit, 1); }

}  // namespace starling::record
