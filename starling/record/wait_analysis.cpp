#include "starling/record/wait_analysis.h"

#include <algorithm>
#include <span>

#include "starling/core/error.h"
#include "starling/record/wait_attribution.h"

namespace starling::record {
namespace {

Doing doing_of(Activity activity) {
  switch (activity) {
    case Activity::kUpdate:
      return Doing::kUpdate;
    case Activity::kServe:
      return Doing::kServe;
    case Activity::kCode:
      return Doing::kCode;
    default:
      return Doing::kCompute;
  }
}

// The part of the run that is looked at.
struct Window {
  Time from = Time::min();
  Time to = Time::max();

  Span cut(Span span) const {
    span.begin = std::max(span.begin, from);
    span.end = std::min(span.end, to);
    return span;
  }
};

bool lasts(const Span& span) { return span.end > span.begin; }

void add_meeting(Rank rank, const Span& span, const Window& window, const Meetings& meetings,
                 WaitAttribution& resolver, std::vector<ResolvedSpan>& pieces) {
  const Time met = meetings.waited_until(rank, span);
  Span before = span;
  before.whom = meetings.last(span);
  before.end = met;
  before = window.cut(before);
  if (lasts(before)) resolver.resolve_meeting(rank, before);
  Span after = span;
  after.begin = met;
  after = window.cut(after);
  if (!lasts(after)) return;
  pieces.push_back({Doing::kTransfer, span.background, kNobody, after.begin, after.end, span.detail});
}

void add_pieces(Rank rank, const Span& whole, const Window& window, const Meetings& meetings,
                WaitAttribution& resolver, std::vector<ResolvedSpan>& pieces) {
  if (whole.activity == Activity::kMeet) {
    return add_meeting(rank, whole, window, meetings, resolver, pieces);
  }
  const Span span = window.cut(whole);
  if (!lasts(span)) return;
  if (span.activity == Activity::kWait) {
    resolver.resolve(rank, span);
  } else {
    const Rank whom = span.activity == Activity::kServe ? span.whom : kNobody;
    pieces.push_back({doing_of(span.activity), span.background, whom, span.begin, span.end, span.detail});
  }
}

std::vector<Span> background_spans(const Journal& journal, const std::vector<Span>& own) {
  std::vector<Span> spans = covered_spans(journal, own);
  for (const Span& span : journal.spans) {
    if (span.background && span.activity != Activity::kHold && span.end > span.begin) spans.push_back(span);
  }
  std::stable_sort(spans.begin(), spans.end(),
                   [](const Span& a, const Span& b) { return a.begin < b.begin; });
  return spans;
}

// What the journals of all ranks say together.
class Resolution {
 public:
  explicit Resolution(const RunRecord& run) : meetings_(run) {
    timelines_.reserve(run.ranks.size());
    for (const RankRecord& record : run.ranks) timelines_.emplace_back(record, meetings_);
  }

  // The rank's own pieces in these windows, by time, then those of the background.
  std::vector<ResolvedSpan> pieces_of(const RankRecord& record, std::span<const Window> windows) const {
    std::vector<ResolvedSpan> pieces;
    pieces.reserve(record.journal.spans.size());
    const std::vector<Span> own = own_spans(record.journal);
    add_all(record.rank, own, windows, pieces);
    add_all(record.rank, background_spans(record.journal, own), windows, pieces);
    return pieces;
  }

 private:
  void add_all(Rank rank, const std::vector<Span>& spans, std::span<const Window> windows,
               std::vector<ResolvedSpan>& pieces) const {
    WaitAttribution resolver(timelines_, pieces);
    for (const Window& window : windows) {
      for (const Span& span : spans) add_pieces(rank, span, window, meetings_, resolver, pieces);
    }
  }

  Meetings meetings_;
  std::vector<Timeline> timelines_;
};

// The parts of the run of which all spans were kept.
std::vector<Window> kept_windows(const RunRecord& run) {
  for (const RankRecord& record : run.ranks) {
    const FoldedSpans& folded = record.folded;
    if (folded.any()) return {{Time::min(), folded.from}, {folded.to, Time::max()}};
  }
  return {Window{}};
}

Duration& field_of(RankTimes& times, Doing doing) {
  switch (doing) {
    case Doing::kCompute:
      return times.computing;
    case Doing::kUpdate:
      return times.updating;
    case Doing::kWait:
      return times.waiting;
    case Doing::kTransfer:
      return times.transferring;
    case Doing::kCode:
      return times.coding;
    case Doing::kServe:
      break;
  }
  return times.serving;
}

std::vector<WaitedFor> merge(std::vector<WaitedFor> waited) {
  std::sort(waited.begin(), waited.end(),
            [](const WaitedFor& a, const WaitedFor& b) { return a.whom < b.whom; });
  std::vector<WaitedFor> merged;
  for (const WaitedFor& item : waited) {
    if (merged.empty() || merged.back().whom != item.whom) {
      merged.push_back(item);
    } else {
      merged.back().time += item.time;
    }
  }
  merged.shrink_to_fit();
  return merged;
}

// The lowest of equals, since max_element takes the first.
Rank longest(const std::vector<WaitedFor>& waited) {
  const auto most = std::max_element(waited.begin(), waited.end(),
                                     [](const WaitedFor& a, const WaitedFor& b) { return a.time < b.time; });
  return most == waited.end() ? kNobody : most->whom;
}

RankTimes sum_up(const RankRecord& record, const std::vector<ResolvedSpan>& pieces) {
  RankTimes times;
  std::vector<WaitedFor> waited;
  for (const ResolvedSpan& piece : pieces) {
    const Duration length = std::min(piece.end, record.end) - std::max(piece.begin, record.begin);
    if (piece.background || length <= Duration{}) continue;
    field_of(times, piece.doing) += length;
    if (piece.doing == Doing::kWait) waited.push_back({piece.whom, length});
  }
  times.waited_for = merge(std::move(waited));
  return times;
}

// What was folded, and what is known of spans that were lost on their way.
void add_folded(const RankRecord& record, RankTimes& times) {
  times.add(record.folded.times);
  times.most_waited_for = longest(times.waited_for);
  if (record.folded.missing == 0) return;
  const Journal& journal = record.journal;
  times.computing = std::max(times.computing, journal.computing);
  times.unattributed = std::max(journal.waiting - times.waiting - times.transferring, times.unattributed);
}

void spread_blame(const RunRecord& run, WaitAnalysis& waits) {
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    if (!run.ranks[i].trains) continue;
    for (const WaitedFor& item : waits.ranks[i].waited_for) {
      waits.ranks[static_cast<std::size_t>(item.whom)].blame += item.time;
    }
  }
  Duration most{};
  for (std::size_t i = 0; i < waits.ranks.size(); ++i) {
    if (waits.ranks[i].blame <= most) continue;
    most = waits.ranks[i].blame;
    waits.most_waited_for = static_cast<Rank>(i);
  }
}

}  // namespace

WaitAnalysis analyse_waits(const RunRecord& run) {
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    if (run.ranks[i].rank != static_cast<Rank>(i)) {
      throw Error(concat("record of a run: rank ", run.ranks[i].rank, " in place ", i));
    }
  }
  const Resolution resolution(run);
  const std::vector<Window> windows = kept_windows(run);
  WaitAnalysis waits;
  waits.ranks.reserve(run.ranks.size());
  waits.pieces.reserve(run.ranks.size());
  for (const RankRecord& record : run.ranks) {
    waits.pieces.push_back(resolution.pieces_of(record, windows));
    waits.ranks.push_back(sum_up(record, waits.pieces.back()));
    add_folded(record, waits.ranks.back());
  }
  spread_blame(run, waits);
  return waits;
}

std::vector<RankTimes> times_between(const RunRecord& run, Time from, Time to) {
  const Resolution resolution(run);
  const Window window{from, to};
  std::vector<RankTimes> times;
  times.reserve(run.ranks.size());
  for (const RankRecord& record : run.ranks) {
    times.push_back(sum_up(record, resolution.pieces_of(record, std::span(&window, 1))));
  }
  return times;
}

}  // namespace starling::record
