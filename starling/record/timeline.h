// The journals put in order, so that it can be asked quickly what a rank was doing during somebody's wait.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "starling/record/run_record.h"

namespace starling::record {

// Who came last to a meeting, and when. Of those who came at the same time it is the lowest rank.
struct Arrival {
  Rank last = kNobody;
  Time time{};
};

class Meetings {
 public:
  // A rank comes when the first of its spans of that meeting begins, in the background or not.
  explicit Meetings(const RunRecord& run);

  // The part of a rank's kMeet span before this time was waiting for last(); its begin if there was none.
  Time waited_until(Rank rank, const Span& span) const;
  Rank last(const Span& span) const { return arrivals_.at(span.meeting).last; }

 private:
  std::unordered_map<std::uint64_t, Arrival> arrivals_;
};

// The rank's own spans, without kHold and without background, by time and without overlap. Those of a rank
// that trains and serves at once may overlap in the journal: work then goes before waiting, and of two alike
// the one that began earlier.
std::vector<Span> own_spans(const Journal& journal);

// What these leave out of spans with a detail, as background: two collectives may end beside each other, and
// the whole of both is to be seen.
std::vector<Span> covered_spans(const Journal& journal, const std::vector<Span>& own);

// A time in which the rank worked, or waited for somebody. Between blocks it did nothing that is known, or
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

  // What overlaps the time; the first and the last may reach beyond it.
  std::span<const Block> blocks(Time from, Time to) const;
  std::span<const Hold> holds(Rank whom, Time from, Time to) const;

 private:
  void add_block(Time begin, Time end, Rank waits_for);
  void add_holds(const Journal& journal);

  std::vector<Block> blocks_;  // by time; work without a gap is one block
  std::vector<Hold> holds_;    // by whom, then by time; those of one `whom` do not overlap
};

}  // namespace starling::record
