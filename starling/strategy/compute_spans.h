// Notes what a worker computes section by section. Neighbouring sections of one part that follow each other
// without a break become one span.
#pragma once

#include "starling/strategy/worker.h"

namespace starling::strategy {

class ComputeSpans {
 public:
  explicit ComputeSpans(Member& self) : self_(self) {}

  // These sections were computed from then until now; `listener` tells which belong together.
  void note(const record::Detail& what, const StepListener& listener, Time begin);
  // Nothing follows without a break.
  void close();

 private:
  bool continues(const record::Detail& what, const StepListener& listener, Time begin) const;

  Member& self_;
  record::Span open_;
};

}  // namespace starling::strategy
