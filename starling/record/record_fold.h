// Keeps the record of a run within its limit while the run goes on.
//
// The ranks hand over their spans in rounds. A round is closed when every rank has handed over all that had
// ended when the round began. Spans are kept until one rank has half of its limit: that is the beginning of
// the run in detail. From then on the time before the round of kRoundsKept rounds ago is analysed, and its
// spans are replaced by sums. The analysis is the one that a run without a limit has at its end, cut to that
// time, so the sums are the same: all spans that reach into that time have ended, unless one lasts for
// kRoundsKept rounds. Of such a span, the part that comes too late counts as work or as `unattributed`.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "starling/record/run_record.h"

namespace starling::record {

class RecordFold {
 public:
  static constexpr std::size_t kRoundsKept = 4;

  RecordFold(const RecordPlan& plan, std::size_t ranks);

  // Spans that the rank has noted since it handed over the last.
  void add(Rank rank, const std::vector<Span>& spans);
  // Every rank has handed over the spans that ended before `began`.
  void close_round(Time began);
  // At the end: the records, by rank, get what was kept of their spans and the sums of the others. Once.
  void finish(std::vector<RankRecord>& records);

  // Spans in memory, of all ranks.
  std::size_t kept() const;

 private:
  struct RankSpans {
    std::vector<Span> beginning;  // that ended and began before beginning_ends_
    std::vector<Span> recent;
    std::uint64_t added = 0;
    FoldedSpans folded;
  };

  bool exceeded() const;
  void keep_beginning(Time until);
  std::uint64_t forget(RankSpans& spans, Time until, Time meetings_until) const;
  void fold(Time until);
  void count_late(RankSpans& spans, const Span& span) const;
  void finish_rank(RankSpans& spans, RankRecord& record) const;

  std::size_t limit_;
  bool folds_;   // the beginning is complete
  Time from_{};  // the time in [from_, to_) is in sums
  Time to_{};
  Time beginning_ends_{};    // after from_: a meeting that began before has its last arrival later
  std::deque<Time> rounds_;  // when the last ones began
  std::vector<RankSpans> ranks_;
};

}  // namespace starling::record
