#include "starling/cluster/jitter_span.h"

#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::cluster {
namespace {

constexpr long long kLongestSpan = 1'000'000'000;

}  // namespace

JitterSpan parse_jitter_span(std::string_view text, std::string_view what) {
  if (text == "piece") return {0};
  if (text == "step") return {1};
  try {
    return {static_cast<std::uint64_t>(parse_integer(text, what, 1, kLongestSpan))};
  } catch (const InvalidArgument&) {
    throw InvalidArgument(
        concat(what, ": '", text, "'; allowed: piece, step, a number of steps from 1 to ", kLongestSpan));
  }
}

std::string text_of(const JitterSpan& span) {
  if (span.steps > 1) return std::to_string(span.steps);
  return span.steps == 0 ? "piece" : "step";
}

double JitterFactors::of_piece(std::uint64_t step) {
  if (span_.steps == 0) return draw(jitter_, random_);
  const std::uint64_t span = (step - 1) / span_.steps + 1;
  if (span != spans_) factor_ = draw(jitter_, random_);
  spans_ = span;
  return factor_;
}

}  // namespace starling::cluster
