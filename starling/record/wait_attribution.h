// Cuts a wait into waiting, for whoever is at the end of the chain, and transfer.
#pragma once

#include <cstddef>
#include <vector>

#include "starling/record/resolved_span.h"
#include "starling/record/timeline.h"

namespace starling::record {

// Keeps references to both.
class WaitAttribution {
 public:
  WaitAttribution(const std::vector<Timeline>& timelines, std::vector<ResolvedSpan>& pieces)
      : timelines_(timelines), pieces_(pieces) {}

  // Appends the pieces of the rank's kWait span, by time and without a gap.
  void resolve(Rank rank, const Span& span);

  // The same for the part of a meeting before `span.whom`, the last one, had come. Nothing is on its way
  // then: what is not waiting for another is waiting for the last one.
  void resolve_meeting(Rank rank, const Span& span);

 private:
  void add(Doing doing, Rank whom, Time begin, Time end);
  void follow(Rank whom, Time from, Time to);
  void look(Time from, Time to);
  void look_at_blocks(Time from, Time to);

  bool known(Rank rank) const { return rank >= 0 && static_cast<std::size_t>(rank) < timelines_.size(); }
  const Timeline& timeline() const { return timelines_[static_cast<std::size_t>(chain_.back())]; }

  const std::vector<Timeline>& timelines_;
  std::vector<ResolvedSpan>& pieces_;
  std::vector<Rank> chain_;  // who waits, for whom it waits, for whom that one waits, ...
  std::size_t first_ = 0;    // of the pieces of this wait
  // Of the span whose wait it is.
  bool background_ = false;
  Detail detail_;
};

}  // namespace starling::record
