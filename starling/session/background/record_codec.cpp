#include "starling/session/background/record_codec.h"

namespace starling::session {

using record::Activity;
using record::Detail;
using record::Journal;
using record::RankRecord;
using record::Span;

namespace {

// Without the holes that the struct has in memory.
constexpr std::size_t kDetailBytes = 1 + 3 * sizeof(std::uint32_t);
constexpr std::size_t kSpanBytes =
    2 + 2 * sizeof(Rank) + sizeof(std::uint64_t) + 2 * sizeof(Time) + kDetailBytes;

void put(ByteWriter& out, const Span& span) {
  out.put(span.activity).put(span.background).put(span.whom).put(span.because);
  out.put(span.meeting).put(span.begin).put(span.end);
  out.put(span.detail.kind).put(span.detail.step).put(span.detail.first).put(span.detail.last);
}

Detail get_detail(ByteReader& in) {
  Detail detail;
  detail.kind = in.get_enum(Detail::Kind::kAllGather, "kind of detail");
  detail.step = in.get<std::uint32_t>();
  detail.first = in.get<std::uint32_t>();
  detail.last = in.get<std::uint32_t>();
  if (detail.first > detail.last) {
    in.refuse(concat("sections from ", detail.first, " to ", detail.last));
  }
  return detail;
}

Span get_span(ByteReader& in) {
  Span span;
  span.activity = in.get_enum(Activity::kHold, "activity");
  span.background = in.get<bool>();
  span.whom = in.get<Rank>();
  span.because = in.get<Rank>();
  span.meeting = in.get<std::uint64_t>();
  span.begin = in.get<Time>();
  span.end = in.get<Time>();
  span.detail = get_detail(in);
  return span;
}

// Without the empty buckets at the end.
void put(ByteWriter& out, const record::Staleness& staleness) {
  out.put(staleness.count).put(staleness.sum).put(staleness.max);
  std::size_t used = staleness.buckets.size();
  while (used > 0 && staleness.buckets[used - 1] == 0) --used;
  out.put<std::uint64_t>(used);
  for (std::size_t i = 0; i < used; ++i) out.put(staleness.buckets[i]);
}

record::Staleness get_staleness(ByteReader& in) {
  record::Staleness staleness;
  staleness.count = in.get<std::uint64_t>();
  staleness.sum = in.get<std::uint64_t>();
  staleness.max = in.get<std::uint64_t>();
  const auto used = in.get<std::uint64_t>();
  if (used > staleness.buckets.size()) {
    in.refuse(concat(used, " buckets of staleness; allowed: up to ", staleness.buckets.size()));
  }
  for (std::size_t i = 0; i < used; ++i) staleness.buckets[i] = in.get<std::uint64_t>();
  return staleness;
}

void put(ByteWriter& out, const record::LockWaits& waits) {
  out.put(waits.count).put(waits.contended).put(waits.total);
}

record::LockWaits get_lock_waits(ByteReader& in) {
  record::LockWaits waits;
  waits.count = in.get<std::uint64_t>();
  waits.contended = in.get<std::uint64_t>();
  waits.total = in.get<Duration>();
  return waits;
}

void put(ByteWriter& out, const record::Generated& generated) {
  out.put(generated.requests).put(generated.groups).put(generated.members).put(generated.censuses);
}

record::Generated get_generated(ByteReader& in) {
  record::Generated generated;
  generated.requests = in.get<std::uint64_t>();
  generated.groups = in.get<std::uint64_t>();
  generated.members = in.get<std::uint64_t>();
  generated.censuses = in.get<std::uint64_t>();
  return generated;
}

void put(ByteWriter& out, const record::Fusion& fusion) {
  out.put(fusion.bytes).put(fusion.settled).put<std::uint64_t>(fusion.trials.size());
  for (const record::Fusion::Trial& trial : fusion.trials) out.put(trial.bytes).put(trial.seconds);
}

record::Fusion get_fusion(ByteReader& in) {
  constexpr std::size_t kTrialBytes = sizeof(std::uint64_t) + sizeof(double);
  record::Fusion fusion;
  fusion.bytes = in.get<std::uint64_t>();
  fusion.settled = in.get<bool>();
  const auto trials = in.get<std::uint64_t>();
  if (trials > in.left() / kTrialBytes) {
    in.refuse(concat(trials, " trials do not fit in ", in.left(), " bytes"));
  }
  for (std::uint64_t i = 0; i < trials; ++i) {
    const auto bytes = in.get<std::uint64_t>();
    fusion.trials.push_back({bytes, in.get<double>()});
  }
  return fusion;
}

Journal get_journal(ByteReader& in) {
  Journal journal;
  journal.steps = in.get<std::uint64_t>();
  journal.samples = in.get<std::uint64_t>();
  journal.skipped = in.get<std::uint64_t>();
  journal.stopped = in.get_text();
  journal.staleness = get_staleness(in);
  journal.lock_waits = get_lock_waits(in);
  journal.step_traffic.peak_bytes = in.get<std::uint64_t>();
  journal.generated = get_generated(in);
  journal.fusion = get_fusion(in);
  journal.computing = in.get<Duration>();
  journal.waiting = in.get<Duration>();
  journal.handed = in.get<std::uint64_t>();
  const auto spans = in.get<std::uint64_t>();
  if (spans > in.left() / kSpanBytes) in.refuse(concat(spans, " spans do not fit in ", in.left(), " bytes"));
  journal.spans.reserve(static_cast<std::size_t>(spans));
  for (std::uint64_t i = 0; i < spans; ++i) journal.spans.push_back(get_span(in));
  return journal;
}

}  // namespace

Bytes to_bytes(const RankRecord& record) {
  ByteWriter out = ByteWriter::message();
  out.put(record.rank).put(record.host).put(record.trains).put(record.part);
  out.put(record.bytes_sent).put(record.messages_sent).put(record.begin).put(record.end);
  out.put_text(record.ended);
  const Journal& journal = record.journal;
  out.put(journal.steps).put(journal.samples).put(journal.skipped);
  out.put_text(journal.stopped);
  put(out, journal.staleness);
  put(out, journal.lock_waits);
  out.put(journal.step_traffic.peak_bytes);
  put(out, journal.generated);
  put(out, journal.fusion);
  out.put(journal.computing).put(journal.waiting).put(journal.handed);
  out.put<std::uint64_t>(journal.spans.size());
  for (const Span& span : journal.spans) put(out, span);
  return out.take();
}

RankRecord record_from(std::span<const std::byte> bytes) {
  ByteReader in = ByteReader::message(bytes, "the record of a rank");
  RankRecord record;
  record.rank = in.get<Rank>();
  record.host = in.get<int>();
  record.trains = in.get<bool>();
  record.part = in.get_enum(record::RecordPart::kAsked, "kind of part");
  record.bytes_sent = in.get<std::uint64_t>();
  record.messages_sent = in.get<std::uint64_t>();
  record.begin = in.get<Time>();
  record.end = in.get<Time>();
  record.ended = in.get_text();
  record.journal = get_journal(in);
  in.expect_end();
  return record;
}

}  // namespace starling::session
