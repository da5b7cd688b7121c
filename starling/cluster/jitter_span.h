// How long a factor of the jitter lasts: a machine that is busy with something else is so for a moment, or
// for many steps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "starling/cluster/jitter.h"

namespace starling::cluster {

struct JitterSpan {
  std::uint64_t steps = 1;  // 0: each piece of a step has a factor of its own

  bool operator==(const JitterSpan&) const = default;
};

// "piece", "step", or a number of steps. Throws InvalidArgument naming `what` and the allowed forms.
JitterSpan parse_jitter_span(std::string_view text, std::string_view what);

// The text that parse_jitter_span reads back.
std::string text_of(const JitterSpan& span);

// The factors of one worker.
class JitterFactors {
 public:
  JitterFactors(const Jitter& jitter, JitterSpan span, const Random& random)
      : jitter_(jitter), span_(span), random_(random) {}

  // Of the piece of a step that begins now. Steps count from 1, and a later call has no earlier step.
  double of_piece(std::uint64_t step);

 private:
  Jitter jitter_;
  JitterSpan span_;
  Random random_;
  double factor_ = 1;
  std::uint64_t spans_ = 0;  // begun
};

}  // namespace starling::cluster
