#include "starling/record/wait_attribution.h"

#include <algorithm>

namespace starling::record {
namespace {

// Longer chains of ranks that wait for each other are not followed to their end.
constexpr std::size_t kLongestChain = 64;
// A wait is not cut in more parts than this if they show only that a service was busy off and on. It bounds
// time and memory when thousands wait for a service that works for thousands.
constexpr std::size_t kMostBlocks = 32;

}  // namespace

void WaitAttribution::resolve(Rank rank, const Span& span) {
  background_ = span.background;
  detail_ = span.detail;
  first_ = pieces_.size();
  chain_.assign(1, rank);
  follow(span.whom, span.begin, span.end);
}

void WaitAttribution::resolve_meeting(Rank rank, const Span& span) {
  resolve(rank, span);
  const std::vector<ResolvedSpan> found(pieces_.begin() + static_cast<std::ptrdiff_t>(first_), pieces_.end());
  pieces_.resize(first_);
  for (const ResolvedSpan& piece : found) {
    add(Doing::kWait, piece.doing == Doing::kWait ? piece.whom : span.whom, piece.begin, piece.end);
  }
}

// Merges equal neighbours. They are never of two spans, so their details cannot differ.
void WaitAttribution::add(Doing doing, Rank whom, Time begin, Time end) {
  if (end <= begin) return;
  if (pieces_.size() > first_) {
    ResolvedSpan& before = pieces_.back();
    if (before.doing == doing && before.whom == whom && before.end == begin) {
      before.end = end;
      return;
    }
  }
  pieces_.push_back({doing, background_, whom, begin, end, detail_});
}

// The last rank of the chain waits for `whom`.
void WaitAttribution::follow(Rank whom, Time from, Time to) {
  if (!known(whom) || std::find(chain_.begin(), chain_.end(), whom) != chain_.end()) {
    add(Doing::kTransfer, kNobody, from, to);
  } else if (chain_.size() == kLongestChain) {
    add(Doing::kWait, whom, from, to);
  } else {
    chain_.push_back(whom);
    look(from, to);
    chain_.pop_back();
  }
}

// Examines the last rank of the chain, for which the one before it waits. Holding goes before all else: the
// rank may be a worker and a service at once, and then its other activities are the worker's.
void WaitAttribution::look(Time from, Time to) {
  const Rank waiting = chain_[chain_.size() - 2];
  for (const Hold& hold : timeline().holds(waiting, from, to)) {
    const Time begin = std::max(hold.begin, from);
    const Time end = std::min(hold.end, to);
    look_at_blocks(from, begin);
    const Rank because = known(hold.because) ? hold.because : chain_.back();
    const bool in_circle = std::find(chain_.begin(), chain_.end() - 1, because) != chain_.end() - 1;
    if (in_circle) {
      add(Doing::kTransfer, kNobody, begin, end);
    } else {
      add(Doing::kWait, because, begin, end);
    }
    from = end;
  }
  look_at_blocks(from, to);
}

void WaitAttribution::look_at_blocks(Time from, Time to) {
  if (to <= from) return;
  const Rank rank = chain_.back();
  const std::span<const Block> blocks = timeline().blocks(from, to);
  if (blocks.size() > kMostBlocks) {
    const Block& first = blocks.front();
    const Block& last = blocks.back();
    if (last.waits_for == kNobody && last.waits_before == first.waits_before) {
      const Duration outside = std::max(from - first.begin, Duration{}) + std::max(last.end - to, Duration{});
      const Duration worked = last.worked_before - first.worked_before + (last.end - last.begin) - outside;
      add(Doing::kWait, rank, from, from + worked);
      add(Doing::kTransfer, kNobody, from + worked, to);
      return;
    }
  }
  for (const Block& block : blocks) {
    const Time begin = std::max(block.begin, from);
    const Time end = std::min(block.end, to);
    add(Doing::kTransfer, kNobody, from, begin);
    if (block.waits_for == kNobody) {
      add(Doing::kWait, rank, begin, end);
    } else {
      follow(block.waits_for, begin, end);
    }
    from = end;
  }
  add(Doing::kTransfer, kNobody, from, to);
}

}  // namespace starling::record
