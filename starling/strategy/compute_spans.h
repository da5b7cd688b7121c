// Notes a worker's computation section by section. Neighbouring sections of one part that follow each other
// without a break become one span.
#pragma once

#include "starling/strategy/worker.h"

namespace starling::strategy {

class ComputeSpans {
 public:
  explicit ComputeSpans(Member& self) : self_(self) {}

  // These sections were computed from then until now; `listener` says which belong together.
  void note(const record::Detail& what, const StepListener& listener, Time begin);
  // Ends the current span: what follows begins a new one.
  void close();

 private:
  bool continues(const record::Detail& what, const StepListener& listener, Time begin) const;

  Member& self_;
  record::Span open_;
};

}  // namespace starling::strategy
