#include "starling/session/background/record_codec.h"

namespace starling::session {

using record::Activity;
using record::Detail;
using record::Journal;
using record::RankRecord;
using record::Span;

namespace {

constexpr std::uint64_t kMagic = 0x3230'4345'5254'5331;  // "1STREC02": changes with the layout

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
  const auto kind = in.get<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(Detail::Kind::kAllGather)) {
    in.refuse(concat("no kind of detail has number ", static_cast<int>(kind)));
  }
  detail.kind = static_cast<Detail::Kind>(kind);
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
  const auto activity = in.get<std::uint8_t>();
  if (activity > static_cast<std::uint8_t>(Activity::kHold)) {
    in.refuse(concat("no activity has number ", static_cast<int>(activity)));
  }
  span.activity = static_cast<Activity>(activity);
  span.background = in.get<std::uint8_t>() != 0;
  span.whom = in.get<Rank>();
  span.because = in.get<Rank>();
  span.meeting = in.get<std::uint64_t>();
  span.begin = in.get<Time>();
  span.end = in.get<Time>();
  span.detail = get_detail(in);
  return span;
}

void put(ByteWriter& out, const record::Fusion& fusion) {
  out.put(fusion.bytes).put(fusion.settled).put<std::uint64_t>(fusion.trials.size());
  for (const record::Fusion::Trial& trial : fusion.trials) out.put(trial.bytes).put(trial.seconds);
}

record::Fusion get_fusion(ByteReader& in) {
  constexpr std::size_t kTrialBytes = sizeof(std::uint64_t) + sizeof(double);
  record::Fusion fusion;
  fusion.bytes = in.get<std::uint64_t>();
  fusion.settled = in.get<std::uint8_t>() != 0;
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
  journal.staleness = in.get<record::Staleness>();
  journal.generated = in.get<record::Generated>();
  journal.fusion = get_fusion(in);
  journal.computing = in.get<Duration>();
  journal.waiting = in.get<Duration>();
  const auto spans = in.get<std::uint64_t>();
  if (spans > in.left() / kSpanBytes) in.refuse(concat(spans, " spans do not fit in ", in.left(), " bytes"));
  journal.spans.reserve(static_cast<std::size_t>(spans));
  for (std::uint64_t i = 0; i < spans; ++i) journal.spans.push_back(get_span(in));
  return journal;
}

}  // namespace

Bytes to_bytes(const RankRecord& record) {
  ByteWriter out;
  out.put(kMagic).put(record.rank).put(record.host).put(record.trains);
  out.put(record.bytes_sent).put(record.messages_sent).put(record.begin).put(record.end);
  out.put_text(record.ended);
  const Journal& journal = record.journal;
  out.put(journal.steps).put(journal.samples).put(journal.staleness).put(journal.generated);
  put(out, journal.fusion);
  out.put(journal.computing).put(journal.waiting).put<std::uint64_t>(journal.spans.size());
  for (const Span& span : journal.spans) put(out, span);
  return out.take();
}

RankRecord record_from(std::span<const std::byte> bytes) {
  ByteReader in(bytes, "the record of a rank");
  if (in.get<std::uint64_t>() != kMagic) in.refuse("it does not begin as one does");
  RankRecord record;
  record.rank = in.get<Rank>();
  record.host = in.get<int>();
  record.trains = in.get<std::uint8_t>() != 0;
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
