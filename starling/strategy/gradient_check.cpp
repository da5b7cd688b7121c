#include "starling/strategy/gradient_check.h"

#include <algorithm>

#include "starling/core/combine.h"
#include "starling/core/error.h"
#include "starling/strategy/worker.h"

namespace starling::strategy {

NonFinite parse_nonfinite(std::string_view text, std::string_view what) {
  for (const NonFinite rule : {NonFinite::kSkip, NonFinite::kStop}) {
    if (text == name_of(rule)) return rule;
  }
  throw InvalidArgument(concat(what, ": '", text, "'; allowed: skip, stop"));
}

std::string_view name_of(NonFinite rule) {
  if (rule == NonFinite::kApply) return "apply";
  return rule == NonFinite::kSkip ? "skip" : "stop";
}

void GradientCheck::look_at(Data gradient) {
  if (rule_ == NonFinite::kApply || gradient.ghost()) return;
  const std::span<float> values = floats(gradient);
  if (all_finite(values)) return;
  skipped_ = true;
  std::fill(values.begin(), values.end(), 0.0F);
}

std::string GradientCheck::step_ends(std::uint64_t step) {
  if (!skipped_) {
    in_a_row_ = 0;
    return {};
  }
  ++in_a_row_;
  ++self_.journal().skipped;
  const std::string which = concat("rank ", self_.rank(), ": the gradient of step ", step, " is not finite");
  if (rule_ == NonFinite::kStop) return concat(which, "; the run stops");
  self_.net().scheduler().log(LogLevel::kWarning, concat(which, "; the step weighs nothing"));
  if (in_a_row_ != kMostSkipped) return {};
  return concat("rank ", self_.rank(), ": the gradients of ", in_a_row_,
                " steps in a row are not finite, the last is that of step ", step, "; the run stops");
}

}  // namespace starling::strategy
