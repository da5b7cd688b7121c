#include "starling/session/background/record_collector.h"

#include "starling/core/error.h"
#include "starling/session/background/record_codec.h"

namespace starling::session {

using record::RankRecord;
using runtime::Task;
using Kind = ControlChannel::Kind;

RecordCollector::RecordCollector(transport::Transport& net, ControlChannel& control,
                                 const strategy::RunInfo& info, bool wanted)
    : net_(net), control_(control), info_(info), wanted_(wanted) {
  if (!wanted) return;
  control_.on(Kind::kRecordTaken, [this](Rank, const Bytes&) {
    taken_ = true;
    news_.pulse();
  });
  control_.on_loss([this] {
    note_losses();
    news_.pulse();
  });
  if (net.rank() != 0) return;
  control_.on(Kind::kRecord, [this](Rank from, const Bytes& bytes) { receive(from, bytes); });
  records_.resize(static_cast<std::size_t>(net.size()));
  for (Rank rank = 0; rank < net.size(); ++rank) known_.push_back(blank(rank));
}

void RecordCollector::include(record::Journal& service) {
  service.keeps_spans = wanted_;
  service_ = &service;
  if (net_.rank() < info_.workers || !wanted_) return;
  control_.on(Kind::kRecordAsk, [this](Rank, const Bytes&) {
    control_.send(0, Kind::kRecord, to_bytes(own(*service_, net_.scheduler().now())));
  });
}

void RecordCollector::begin(Time origin) {
  origin_ = origin;
  before_ = net_.traffic();
}

RankRecord RecordCollector::blank(Rank rank) const {
  RankRecord record;
  record.rank = rank;
  record.host = info_.host_of_rank[static_cast<std::size_t>(rank)];
  record.trains = rank < info_.workers;
  return record;
}

RankRecord RecordCollector::own(record::Journal& journal, Time end) {
  RankRecord record = blank(net_.rank());
  std::vector<record::Span> spans = std::move(journal.spans);
  journal.spans.clear();
  record.journal = journal;
  record.journal.spans = std::move(spans);
  for (record::Span& span : record.journal.spans) {
    span.begin -= origin_.time_since_epoch();
    span.end -= origin_.time_since_epoch();
  }
  record.end = Time(end - origin_);
  count_traffic(record);
  return record;
}

void RecordCollector::count_traffic(RankRecord& record) const {
  record.bytes_sent = net_.traffic().bytes - before_.bytes - control_.traffic().bytes;
  record.messages_sent = net_.traffic().messages - before_.messages - control_.traffic().messages;
}

void RecordCollector::bring_in(record::Journal& journal, Time end, std::string why) {
  if (!wanted_) return;
  RankRecord record = own(journal, end);
  record.ended = std::move(why);
  if (net_.rank() == 0) {
    records_[0] = std::move(record);
  } else {
    control_.send(0, Kind::kRecord, to_bytes(record));
  }
}

Task<> RecordCollector::delivered() {
  while (wanted_ && !taken_ && !net_.lost(0)) {
    news_.rename("rank 0 to take the record");
    co_await news_;
  }
}

Task<> RecordCollector::gathered() {
  if (!wanted_) co_return;
  for (Rank rank = 1; rank < info_.workers; ++rank) co_await arrival_of(rank);
  if (net_.size() == info_.workers) co_return;
  control_.send(info_.workers, Kind::kRecordAsk, {});  // the workers that it serves are done
  co_await arrival_of(info_.workers);
}

// Without a deadline: a worker may train for hours yet.
Task<> RecordCollector::arrival_of(Rank rank) {
  while (!records_[static_cast<std::size_t>(rank)] && !net_.lost(rank)) {
    news_.rename(concat("the record of rank ", rank));
    co_await news_;
  }
}

void RecordCollector::receive(Rank from, const Bytes& bytes) {
  RankRecord record = blank(from);
  try {
    record = record_from(bytes);
    if (record.rank != from) throw Error(concat("the record of a rank: it is that of rank ", record.rank));
  } catch (const Error& error) {
    record = blank(from);
    record.ended = error.what();
  }
  records_[static_cast<std::size_t>(from)] = std::move(record);
  control_.send(from, Kind::kRecordTaken, {});
  news_.pulse();
}

void RecordCollector::note(Rank worker, std::uint64_t steps, std::uint64_t samples) {
  if (known_.empty()) return;
  record::Journal& journal = known_[static_cast<std::size_t>(worker)].journal;
  journal.steps = steps;
  journal.samples = samples;
}

void RecordCollector::note_losses() {
  for (RankRecord& record : known_) {
    if (!record.ended.empty() || !net_.lost(record.rank)) continue;
    record.ended = concat("lost: ", net_.why_lost(record.rank));
    record.end = Time(net_.scheduler().now() - origin_);
  }
}

// The service beside rank 0 may have been busy after this worker's last step.
std::vector<RankRecord> RecordCollector::take() {
  note_losses();
  std::vector<RankRecord> all;
  for (RankRecord& known : known_) {
    auto& record = records_[static_cast<std::size_t>(known.rank)];
    if (!record && known.ended.empty()) known.ended = "not known: rank 0 ended before";
    all.push_back(record ? std::move(*record) : std::move(known));
  }
  if (all.empty() || service_ == nullptr) return all;
  const RankRecord service = own(*service_, Time{});
  record::add_service(all[0], service.journal);
  count_traffic(all[0]);
  return all;
}

}  // namespace starling::session
