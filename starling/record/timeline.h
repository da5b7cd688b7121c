// The journals in order, so that the analysis can quickly find what a rank was doing during another's wait.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "starling/record/run_record.h"

namespace starling::record {

// The last rank to arrive at a meeting, and when. The lowest rank of those that arrived at the same time.
struct Arrival {
  Rank last = kNobody;
  Time time{};
};

class Meetings {
 public:
  // A rank arrives when the first of its spans of that meeting begins, in the background or not.
  explicit Meetings(const RunRecord& run);

  // The part of a rank's kMeet span before this time was waiting for last(); its begin if there was none.
  Time waited_until(Rank rank, const Span& span) const;
  Rank last(const Span& span) const { return arrivals_.at(span.meeting).last; }

 private:
  std::unordered_map<std::uint64_t, Arrival> arrivals_;
};

// The rank's own spans, without kHold and without background, by time and without overlap. The spans of a
// rank that trains and serves at once may overlap in the journal: work then goes before waiting, and of two
// alike the one that began earlier.
std::vector<Span> own_spans(const Journal& journal);

// The parts of spans with a detail that `own` leaves out, as background: two collectives may end beside each
// other, and both should be visible in full.
std::vector<Span> covered_spans(const Journal& journal, const std::vector<Span>& own);

// A time in which the rank worked, or waited for another. Between blocks its activity is unknown, or it
// exchanged bytes.
struct Block {
  Time begin{};
  Time end{};
  Duration worked_before{};  // in earlier blocks
  Rank waits_for = kNobody;  // kNobody: it worked
  std::uint32_t waits_before = 0;
};

struct Hold {
  Rank whom = kNobody;
  Rank because = kNobody;
  Time begin{};
  Time end{};
};

class Timeline {
 public:
  Timeline(const RankRecord& record, const Meetings& meetings);

  // The blocks that overlap the time; the first and the last may reach beyond it.
  std::span<const Block> blocks(Time from, Time to) const;
  std::span<const Hold> holds(Rank whom, Time from, Time to) const;

 private:
  void add_block(Time begin, Time end, Rank waits_for);
  void add_holds(const Journal& journal);

  std::vector<Block> blocks_;  // by time; work without a gap is one block
  std::vector<Hold> holds_;    // by `whom`, then by time; those of one `whom` do not overlap
};

}  // namespace starling::record
