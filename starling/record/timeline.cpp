#include "starling/record/timeline.h"

#include <algorithm>
#include <tuple>

namespace starling::record {
namespace {

bool is_work(const Span& span) {
  return span.activity == Activity::kCompute || span.activity == Activity::kUpdate ||
         span.activity == Activity::kServe || span.activity == Activity::kCode;
}

bool earlier(const Span& a, const Span& b) { return a.begin < b.begin; }

bool disjoint(const std::vector<Span>& spans) {
  const auto overlap = [](const Span& a, const Span& b) { return b.begin < a.end; };
  return std::adjacent_find(spans.begin(), spans.end(), overlap) == spans.end();
}

// Cuts off the part that overlaps an earlier one.
template <class Item>
void clip(std::vector<Item>& items, bool (*related)(const Item&, const Item&)) {
  std::size_t kept = 0;
  for (Item item : items) {
    if (kept > 0 && related(items[kept - 1], item)) item.begin = std::max(item.begin, items[kept - 1].end);
    if (item.end > item.begin) items[kept++] = item;
  }
  items.resize(kept);
}

// The waiting spans with the working ones cut out, together with these, by time. Neither list overlaps
// itself.
std::vector<Span> lay_over(const std::vector<Span>& work, const std::vector<Span>& waiting) {
  std::vector<Span> all = work;
  auto next = work.begin();
  for (Span rest : waiting) {
    while (next != work.end() && next->end <= rest.begin) ++next;
    for (auto cut = next; cut != work.end() && cut->begin < rest.end; ++cut) {
      Span before = rest;
      before.end = cut->begin;
      if (before.end > before.begin) all.push_back(before);
      rest.begin = cut->end;
    }
    if (rest.end > rest.begin) all.push_back(rest);
  }
  std::sort(all.begin(), all.end(), earlier);
  return all;
}

}  // namespace

Meetings::Meetings(const RunRecord& run) {
  std::unordered_map<std::uint64_t, Rank> counted;  // the rank that came to the meeting most recently
  std::vector<Span> met;
  for (const RankRecord& record : run.ranks) {
    met.clear();
    for (const Span& span : record.journal.spans) {
      if (span.activity == Activity::kMeet) met.push_back(span);
    }
    if (!std::is_sorted(met.begin(), met.end(), earlier)) std::stable_sort(met.begin(), met.end(), earlier);
    for (const Span& span : met) {
      const auto [rank, first] = counted.try_emplace(span.meeting, record.rank);
      if (!first && rank->second == record.rank) continue;
      rank->second = record.rank;
      Arrival& arrival = arrivals_[span.meeting];
      if (first || span.begin > arrival.time) arrival = {record.rank, span.begin};
    }
  }
}

Time Meetings::waited_until(Rank rank, const Span& span) const {
  const Arrival& arrival = arrivals_.at(span.meeting);
  return arrival.last == rank ? span.begin : std::clamp(arrival.time, span.begin, span.end);
}

std::vector<Span> own_spans(const Journal& journal) {
  std::vector<Span> own;
  own.reserve(journal.spans.size());
  for (const Span& span : journal.spans) {
    if (!span.background && span.activity != Activity::kHold && span.end > span.begin) own.push_back(span);
  }
  if (!std::is_sorted(own.begin(), own.end(), earlier)) std::stable_sort(own.begin(), own.end(), earlier);
  if (disjoint(own)) return own;

  const auto middle = std::stable_partition(own.begin(), own.end(), is_work);
  std::vector<Span> work(own.begin(), middle);
  std::vector<Span> waiting(middle, own.end());
  const auto always = [](const Span&, const Span&) { return true; };
  clip<Span>(work, always);
  clip<Span>(waiting, always);
  return lay_over(work, waiting);
}

std::vector<Span> covered_spans(const Journal& journal, const std::vector<Span>& own) {
  std::vector<Span> covered;
  for (const Span& span : journal.spans) {
    if (span.background || span.activity == Activity::kHold || span.detail.kind == Detail::Kind::kNone)
      continue;
    Span rest = span;
    rest.background = true;
    auto kept = std::partition_point(own.begin(), own.end(),
                                     [&](const Span& piece) { return piece.end <= span.begin; });
    for (; kept != own.end() && kept->begin < span.end; ++kept) {
      if (kept->activity != span.activity || kept->meeting != span.meeting || kept->detail != span.detail)
        continue;
      Span before = rest;
      before.end = kept->begin;
      if (before.end > before.begin) covered.push_back(before);
      rest.begin = kept->end;
    }
    if (rest.end > rest.begin) covered.push_back(rest);
  }
  return covered;
}

Timeline::Timeline(const RankRecord& record, const Meetings& meetings) {
  for (const Span& span : own_spans(record.journal)) {
    if (is_work(span)) {
      add_block(span.begin, span.end, kNobody);
    } else if (span.activity == Activity::kMeet) {
      add_block(span.begin, meetings.waited_until(record.rank, span), meetings.last(span));
    } else if (span.whom != kNobody) {
      add_block(span.begin, span.end, span.whom);
    }
  }
  blocks_.shrink_to_fit();
  add_holds(record.journal);
}

void Timeline::add_block(Time begin, Time end, Rank waits_for) {
  if (end <= begin) return;
  Block block{begin, end, {}, waits_for, 0};
  if (!blocks_.empty()) {
    Block& before = blocks_.back();
    const bool worked = before.waits_for == kNobody;
    if (worked && waits_for == kNobody && before.end == begin) {
      before.end = end;
      return;
    }
    block.worked_before = before.worked_before + (worked ? before.end - before.begin : Duration{});
    block.waits_before = before.waits_before + (worked ? 0 : 1);
  }
  blocks_.push_back(block);
}

void Timeline::add_holds(const Journal& journal) {
  for (const Span& span : journal.spans) {
    if (span.activity == Activity::kHold) holds_.push_back({span.whom, span.because, span.begin, span.end});
  }
  const auto order = [](const Hold& a, const Hold& b) {
    return std::tie(a.whom, a.begin) < std::tie(b.whom, b.begin);
  };
  std::stable_sort(holds_.begin(), holds_.end(), order);
  clip<Hold>(holds_, [](const Hold& a, const Hold& b) { return a.whom == b.whom; });
}

std::span<const Block> Timeline::blocks(Time from, Time to) const {
  const auto first = std::partition_point(blocks_.begin(), blocks_.end(),
                                          [from](const Block& block) { return block.end <= from; });
  const auto last =
      std::partition_point(first, blocks_.end(), [to](const Block& block) { return block.begin < to; });
  return {first, last};
}

std::span<const Hold> Timeline::holds(Rank whom, Time from, Time to) const {
  const auto first = std::partition_point(holds_.begin(), holds_.end(), [whom, from](const Hold& hold) {
    return hold.whom < whom || (hold.whom == whom && hold.end <= from);
  });
  const auto last = std::partition_point(
      first, holds_.end(), [whom, to](const Hold& hold) { return hold.whom == whom && hold.begin < to; });
  return {first, last};
}

}  // namespace starling::record
