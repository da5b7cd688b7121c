#include "starling/session/background/record_collector.h"

#include "starling/core/error.h"
#include "starling/session/background/coordinator.h"
#include "starling/session/background/record_codec.h"

namespace starling::session {

using record::RankRecord;
using runtime::Task;
using Kind = ControlChannel::Kind;

RecordCollector::RecordCollector(transport::Transport& net, ControlChannel& control,
                                 const strategy::RunInfo& info, bool wanted, const record::RecordPlan& plan)
    : net_(net),
      control_(control),
      info_(info),
      wanted_(wanted),
      keeps_spans_(wanted && plan.mode != record::RecordMode::kOff),
      parts_(net, control, plan, [this](record::RecordPart part) { return take_part(part); }) {
  if (!wanted) return;
  control_.on(Kind::kRecordTaken, [this](Rank from, const Bytes&) {
    taken_by_ = from;
    news_.pulse();
  });
  control_.on_loss([this] {
    note_losses();
    deliver();
    news_.pulse();
  });
  control_.on(Kind::kRecord, [this](Rank from, const Bytes& bytes) { receive(from, bytes); });
  records_.resize(static_cast<std::size_t>(net.size()));
  for (Rank rank = 0; rank < net.size(); ++rank) known_.push_back(blank(rank));
}

void RecordCollector::watch(record::Journal& worker) {
  worker.keeps_spans = keeps_spans_;
  worker_ = &worker;
  parts_.watch(worker);
}

void RecordCollector::include(record::Journal& service) {
  service.keeps_spans = keeps_spans_;
  service_ = &service;
  parts_.watch(service);
  if (net_.rank() < info_.workers || !wanted_) return;
  control_.on(Kind::kRecordAsk, [this](Rank from, const Bytes&) {
    if (!own_) own_ = own(*service_, net_.scheduler().now());
    control_.send(from, Kind::kRecord, to_bytes(*own_));
  });
}

void RecordCollector::begin(Time origin) {
  origin_ = origin;
  parts_.begin(origin);
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
  for (record::Span& span : record.journal.spans) span = since_origin(span);
  record.end = Time(end - origin_);
  count_traffic(record);
  return record;
}

record::Span RecordCollector::since_origin(record::Span span) const {
  span.begin -= origin_.time_since_epoch();
  span.end -= origin_.time_since_epoch();
  return span;
}

RankRecord RecordCollector::take_part(record::RecordPart part) {
  RankRecord record = blank(net_.rank());
  record.part = part;
  for (record::Journal* const journal : {worker_, service_}) {
    if (journal == nullptr) continue;
    for (record::Span span : journal->hand_over()) {
      if (journal == service_) span = record::beside_worker(span, record.trains);
      record.journal.spans.push_back(since_origin(span));
    }
  }
  return record;
}

// Of the strategy, so far.
transport::Traffic RecordCollector::traffic() const {
  transport::Traffic sent = net_.traffic();
  sent.bytes -= before_.bytes + control_.traffic().bytes;
  sent.messages -= before_.messages + control_.traffic().messages;
  if (left_out_ == nullptr) return sent;
  sent.bytes -= left_out_->bytes;
  sent.messages -= left_out_->messages;
  return sent;
}

void RecordCollector::count_traffic(RankRecord& record) const {
  const transport::Traffic sent = traffic();
  record.bytes_sent = sent.bytes;
  record.messages_sent = sent.messages;
}

Task<bool> RecordCollector::before_step(std::uint64_t) {
  if (worker_ != nullptr) worker_->step_traffic.step_begins(traffic().bytes);
  parts_.send_if_full();
  co_return true;
}

void RecordCollector::bring_in(record::Journal& journal, Time end, std::string why) {
  if (!wanted_) return;
  own_ = own(journal, end);
  worker_ = nullptr;  // the user's thread may look at its journal from now on
  own_->ended = std::move(why);
  deliver();
}

// Once to each coordinator.
void RecordCollector::deliver() {
  const Rank to = coordinator_of(net_);
  if (!own_ || to == sent_to_) return;
  sent_to_ = to;
  if (to != net_.rank()) return control_.send(to, Kind::kRecord, to_bytes(*own_));
  records_[static_cast<std::size_t>(to)] = std::move(*own_);
  own_.reset();
}

Task<> RecordCollector::delivered() {
  while (wanted_ && !is_coordinator(net_) && taken_by_ != coordinator_of(net_)) {
    news_.rename(concat("rank ", coordinator_of(net_), " to take the record"));
    co_await news_;
  }
}

Task<> RecordCollector::gathered() {
  if (!wanted_) co_return;
  for (Rank rank = 0; rank < info_.workers; ++rank) co_await arrival_of(rank);
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
  if (record.part != record::RecordPart::kLast) return parts_.receive(record);
  parts_.stop_waiting_for(from);
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
    parts_.stop_waiting_for(record.rank);
  }
}

// The service beside this worker may have been busy after its last step.
std::vector<RankRecord> RecordCollector::take() {
  note_losses();
  std::vector<RankRecord> all;
  for (RankRecord& known : known_) {
    auto& record = records_[static_cast<std::size_t>(known.rank)];
    if (!record && known.ended.empty())
      known.ended = concat("not known: rank ", net_.rank(), " ended before");
    all.push_back(record ? std::move(*record) : std::move(known));
  }
  if (!all.empty() && service_ != nullptr) {
    const RankRecord service = own(*service_, Time{});
    RankRecord& beside = all[static_cast<std::size_t>(net_.rank())];
    record::add_service(beside, service.journal);
    count_traffic(beside);
  }
  parts_.finish(all);
  return all;
}

}  // namespace starling::session
