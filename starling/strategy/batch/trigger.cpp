#include "starling/strategy/batch/trigger.h"

#include <string>

#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::strategy {

namespace {

constexpr long long kMostFinishers = 1'000'000;

}  // namespace

Trigger parse_trigger(std::string_view text, std::string_view what) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string value(colon == std::string_view::npos ? "" : text.substr(colon + 1));
  if (text == "first") return {};
  if (text == "all") return {.kind = Trigger::Kind::kAll};
  if (name == "quorum" && !value.empty()) {
    const auto finishers = static_cast<int>(parse_integer(value, concat(what, " quorum"), 1, kMostFinishers));
    return {.finishers = finishers};
  }
  if (name == "deadline" && !value.empty()) {
    const Duration deadline = parse_duration(value, concat(what, " deadline"));
    if (deadline > Duration(0)) return {.kind = Trigger::Kind::kDeadline, .deadline = deadline};
  }
  throw InvalidArgument(concat(
      what, ": '", text, "' is not a trigger; allowed: first, quorum:WORKERS, deadline:TIME (above 0), all"));
}

}  // namespace starling::strategy
