// Cuts a wait into waiting, for the rank at the end of the chain, and transfer.
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

  // Appends the parts of the rank's kWait span, by time and without a gap.
  void resolve(Rank rank, const Span& span);

  // The same for the part of a meeting before `span.whom`, the last one, had arrived. Nothing is in flight
  // then: time that is not waiting for another rank is waiting for the last one.
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
  std::vector<Rank> chain_;  // the rank that waits, the rank it waits for, the rank that one waits for, ...
  std::size_t first_ = 0;    // of the parts of this wait
  // From the span to which the wait belongs.
  bool background_ = false;
  Detail detail_;
};

}  // namespace starling::record
