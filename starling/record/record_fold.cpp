#include "starling/record/record_fold.h"

#include <algorithm>
#include <utility>

#include "starling/record/wait_analysis.h"

namespace starling::record {
namespace {

// The meetings that a rank was in at this time.
std::vector<std::uint64_t> meetings_at(const std::vector<Span>& spans, Time time) {
  std::vector<std::uint64_t> meetings;
  for (const Span& span : spans) {
    if (span.activity == Activity::kMeet && span.begin <= time && span.end > time)
      meetings.push_back(span.meeting);
  }
  return meetings;
}

}  // namespace

RecordFold::RecordFold(const RecordPlan& plan, std::size_t ranks)
    : limit_(span_limit(plan, ranks)), folds_(plan.mode != RecordMode::kFull), ranks_(ranks) {}

void RecordFold::add(Rank rank, const std::vector<Span>& spans) {
  RankSpans& own = ranks_[static_cast<std::size_t>(rank)];
  own.added += spans.size();
  for (const Span& span : spans) {
    own.recent.push_back(span);
    if (span.begin < to_) count_late(own, span);
  }
}

// The part of a span in a time that has been folded. The rest of it is analysed as ever.
void RecordFold::count_late(RankSpans& spans, const Span& span) const {
  const Time begin = std::max(span.begin, from_);
  const Duration late = std::min(span.end, to_) - begin;
  if (span.background || late <= Duration{}) return;
  RankTimes& times = spans.folded.times;
  if (span.activity == Activity::kCompute) times.computing += late;
  if (span.activity == Activity::kUpdate) times.updating += late;
  if (span.activity == Activity::kServe) times.serving += late;
  if (span.activity == Activity::kCode) times.coding += late;
  if (span.activity == Activity::kWait || span.activity == Activity::kMeet) times.unattributed += late;
}

void RecordFold::close_round(Time began) {
  rounds_.push_back(began);
  if (rounds_.size() <= kRoundsKept) return;
  const Time until = rounds_.front();
  rounds_.pop_front();
  if (!folds_) {
    if (exceeded()) keep_beginning(until);
  } else if (until > to_) {
    fold(until);
  }
}

bool RecordFold::exceeded() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [this](const RankSpans& spans) { return spans.recent.size() > limit_ / 2; });
}

void RecordFold::keep_beginning(Time until) {
  folds_ = true;
  from_ = to_ = until;
  beginning_ends_ = rounds_.back();
  for (RankSpans& spans : ranks_) forget(spans, until, Time{});
}

// Spans that reach beyond `until` stay as they are, and so do earlier spans of the same meeting: a rank
// arrives with the first of them. A meeting that ended after `meetings_until` stays too, because a wait in
// the next step may be noted under its number. Those that belong to the beginning are not forgotten.
std::uint64_t RecordFold::forget(RankSpans& spans, Time until, Time meetings_until) const {
  const std::vector<std::uint64_t> going_on = meetings_at(spans.recent, until);
  const auto is_needed = [&](const Span& span) {
    if (span.activity != Activity::kMeet) return span.end > until;
    return span.end > meetings_until ||
           std::find(going_on.begin(), going_on.end(), span.meeting) != going_on.end();
  };
  std::uint64_t forgotten = 0;
  std::erase_if(spans.recent, [&](const Span& span) {
    if (is_needed(span)) return false;
    const bool early = span.begin < beginning_ends_;
    if (early) spans.beginning.push_back(span);
    forgotten += early ? 0 : 1;
    return true;
  });
  return forgotten;
}

void RecordFold::fold(Time until) {
  RunRecord run;
  run.ranks.resize(ranks_.size());
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    run.ranks[i].rank = static_cast<Rank>(i);
    run.ranks[i].end = Time::max();
    run.ranks[i].journal.spans = std::move(ranks_[i].recent);
  }
  const std::vector<RankTimes> times = times_between(run, to_, until);
  const Time meetings_until = std::exchange(to_, until);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    RankSpans& spans = ranks_[i];
    spans.recent = std::move(run.ranks[i].journal.spans);
    spans.folded.times.add(times[i]);
    spans.folded.spans += forget(spans, until, meetings_until);
  }
}

std::size_t RecordFold::kept() const {
  std::size_t kept = 0;
  for (const RankSpans& spans : ranks_) kept += spans.beginning.size() + spans.recent.size();
  return kept;
}

void RecordFold::finish(std::vector<RankRecord>& records) {
  for (RankRecord& record : records) finish_rank(ranks_[static_cast<std::size_t>(record.rank)], record);
}

void RecordFold::finish_rank(RankSpans& spans, RankRecord& record) const {
  const std::vector<Span> last = std::exchange(record.journal.spans, std::move(spans.beginning));
  for (const Span& span : last) {
    if (span.begin < to_) count_late(spans, span);
  }
  std::vector<Span>& all = record.journal.spans;
  all.insert(all.end(), spans.recent.begin(), spans.recent.end());
  all.insert(all.end(), last.begin(), last.end());
  record.folded = std::move(spans.folded);
  record.folded.from = from_;
  record.folded.to = to_;
  if (record.journal.handed > spans.added) record.folded.missing = record.journal.handed - spans.added;
}

}  // namespace starling::record
