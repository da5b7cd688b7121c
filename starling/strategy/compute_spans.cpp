#include "starling/strategy/compute_spans.h"

#include <algorithm>

namespace starling::strategy {

using record::Detail;

bool ComputeSpans::continues(const Detail& what, const StepListener& listener, Time begin) const {
  const Detail& before = open_.detail;
  return before.kind == what.kind && open_.end == begin &&
         (before.last == what.first || before.first == what.last) &&
         listener.part_of(before.first) == listener.part_of(what.first);
}

void ComputeSpans::note(const Detail& what, const StepListener& listener, Time begin) {
  if (!continues(what, listener, begin)) {
    close();
    open_.begin = begin;
    open_.detail = what;
  }
  open_.end = self_.now();
  open_.detail.first = std::min(open_.detail.first, what.first);
  open_.detail.last = std::max(open_.detail.last, what.last);
}

void ComputeSpans::close() {
  if (open_.detail.kind != Detail::Kind::kNone) self_.journal().add(open_);
  open_ = {};
}

}  // namespace starling::strategy
