#include "starling/session/background/record_parts.h"

#include <algorithm>
#include <utility>

#include "starling/session/background/coordinator.h"
#include "starling/session/background/record_codec.h"

namespace starling::session {

using record::RankRecord;
using record::RecordPart;
using Kind = ControlChannel::Kind;

RecordParts::RecordParts(transport::Transport& net, ControlChannel& control, const record::RecordPlan& plan,
                         TakePart take_part)
    : net_(net),
      control_(control),
      part_size_(record::part_size(record::span_limit(plan, static_cast<std::size_t>(net.size())))),
      take_part_(std::move(take_part)),
      fold_(plan, static_cast<std::size_t>(net.size())) {
  control_.on(Kind::kRecordPartAsk, [this](Rank, const Bytes&) { send_part(RecordPart::kAsked); });
  const auto ranks = static_cast<std::size_t>(net.size());
  awaited_.resize(ranks);
  finished_.resize(ranks);
}

bool RecordParts::full() const {
  return std::any_of(journals_.begin(), journals_.end(),
                     [this](const record::Journal* journal) { return journal->spans.size() >= part_size_; });
}

void RecordParts::send_if_full() {
  if (!full()) return;
  if (is_coordinator(net_)) {
    begin_round();
  } else {
    send_part(RecordPart::kFull);
  }
}

// Of the kind that the whole record has: the parts arrive in order and before it.
void RecordParts::send_part(RecordPart part) {
  control_.send(coordinator_of(net_), Kind::kRecord, to_bytes(take_part_(part)));
}

// The answers have all that ended before the question.
void RecordParts::begin_round() {
  const RankRecord own = take_part_(RecordPart::kFull);
  fold_.add(net_.rank(), own.journal.spans);
  if (round_) return;
  round_ = Time(net_.scheduler().now() - origin_);
  for (Rank rank = 0; rank < net_.size(); ++rank) {
    if (rank == net_.rank() || finished_[static_cast<std::size_t>(rank)] || net_.lost(rank)) continue;
    awaited_[static_cast<std::size_t>(rank)] = true;
    control_.send(rank, Kind::kRecordPartAsk, {});
  }
  end_round();
}

void RecordParts::receive(const RankRecord& part) {
  fold_.add(part.rank, part.journal.spans);
  if (part.part == RecordPart::kFull) return begin_round();
  awaited_[static_cast<std::size_t>(part.rank)] = false;
  end_round();
}

void RecordParts::stop_waiting_for(Rank rank) {
  awaited_[static_cast<std::size_t>(rank)] = false;
  finished_[static_cast<std::size_t>(rank)] = true;
  end_round();
}

void RecordParts::end_round() {
  if (!round_ || std::find(awaited_.begin(), awaited_.end(), true) != awaited_.end()) return;
  fold_.close_round(*std::exchange(round_, {}));
}

void RecordParts::finish(std::vector<RankRecord>& records) { fold_.finish(records); }

}  // namespace starling::session
