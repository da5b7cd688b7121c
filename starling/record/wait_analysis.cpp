#include "starling/record/wait_analysis.h"

#include <algorithm>

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
    default:
      return Doing::kCompute;
  }
}

void add_pieces(Rank rank, const Span& span, const Meetings& meetings, WaitAttribution& resolver,
                std::vector<ResolvedSpan>& pieces) {
  if (span.activity == Activity::kWait) {
    resolver.resolve(rank, span);
  } else if (span.activity == Activity::kMeet) {
    const Time met = meetings.waited_until(rank, span);
    Span before = span;
    before.whom = meetings.last(span);
    before.end = met;
    if (met > span.begin) resolver.resolve_meeting(rank, before);
    if (span.end > met) {
      pieces.push_back({Doing::kTransfer, span.background, kNobody, met, span.end, span.detail});
    }
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

std::vector<ResolvedSpan> pieces_of(const RankRecord& record, const Meetings& meetings,
                                    const std::vector<Timeline>& timelines) {
  std::vector<ResolvedSpan> pieces;
  pieces.reserve(record.journal.spans.size());
  WaitAttribution resolver(timelines, pieces);
  const std::vector<Span> own = own_spans(record.journal);
  for (const Span& span : own) {
    add_pieces(record.rank, span, meetings, resolver, pieces);
  }
  for (const Span& span : background_spans(record.journal, own)) {
    add_pieces(record.rank, span, meetings, resolver, pieces);
  }
  return pieces;
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
  times.most_waited_for = longest(times.waited_for);
  return times;
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
  const Meetings meetings(run);
  std::vector<Timeline> timelines;
  timelines.reserve(run.ranks.size());
  for (const RankRecord& record : run.ranks) timelines.emplace_back(record, meetings);

  WaitAnalysis waits;
  waits.ranks.reserve(run.ranks.size());
  waits.pieces.reserve(run.ranks.size());
  for (const RankRecord& record : run.ranks) {
    waits.pieces.push_back(pieces_of(record, meetings, timelines));
    waits.ranks.push_back(sum_up(record, waits.pieces.back()));
  }
  spread_blame(run, waits);
  return waits;
}

}  // namespace starling::record
