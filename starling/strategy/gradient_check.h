// Steps whose gradient is not finite. The gradient becomes 0 before a strategy sees it, and the step weighs
// nothing: a strategy that updates alone skips its update, a mean of several workers is that of the others.
// If gradients are sent during the backward pass, that holds from the first section on that is not finite;
// what was sent before, counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "starling/collective/collective.h"

namespace starling::strategy {

class Member;

enum class NonFinite {
  kApply,  // not checked
  kSkip,   // the step weighs nothing; kMostSkipped in a row on one worker stop the run
  kStop,   // the first stops the run
};

// In a row.
inline constexpr std::uint64_t kMostSkipped = 10;

// "skip" or "stop". Throws InvalidArgument naming `what` and the words.
NonFinite parse_nonfinite(std::string_view text, std::string_view what);
std::string_view name_of(NonFinite rule);

// One worker's.
class GradientCheck {
 public:
  GradientCheck(Member& self, NonFinite rule) : self_(self), rule_(rule) {}

  NonFinite rule() const { return rule_; }

  void step_begins() { skipped_ = false; }
  // Looks at a part of the step's gradient; fills it with 0 if it is not finite.
  void look_at(collective::Data gradient);
  // Whether a part of this step was not finite.
  bool skipped() const { return skipped_; }
  // After the last part: names a skipped step in the log and the journal. Returns why the run has to stop,
  // empty if it has not.
  std::string step_ends(std::uint64_t step);

 private:
  Member& self_;
  NonFinite rule_;
  bool skipped_ = false;
  std::uint64_t in_a_row_ = 0;
};

}  // namespace starling::strategy
