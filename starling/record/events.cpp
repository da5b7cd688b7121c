#include "starling/record/events.h"

#include <algorithm>
#include <ostream>

#include "starling/record/json_append.h"

namespace starling::record {
namespace {

constexpr std::size_t kEventBufferBytes = 1 << 16;

std::string_view name_of(Activity activity) {
  switch (activity) {
    case Activity::kCompute:
      return "compute";
    case Activity::kUpdate:
      return "update";
    case Activity::kWait:
      return "wait";
    case Activity::kMeet:
      return "meet";
    case Activity::kServe:
      return "serve";
    case Activity::kCode:
      return "code";
    case Activity::kHold:
      break;
  }
  return "hold";
}

void append_span(std::string& text, Rank rank, const Span& span) {
  text += "{\"t\":";
  append_seconds(text, span.begin.time_since_epoch());
  text += ",\"d\":";
  append_seconds(text, span.end - span.begin);
  text += ",\"rank\":";
  append(text, rank);
  text += ",\"what\":";
  append_quoted(text, name_of(span.activity));
  if (span.whom != kNobody) {
    text += ",\"whom\":";
    append(text, span.whom);
  }
  if (span.because != kNobody) {
    text += ",\"because\":";
    append(text, span.because);
  }
  if (span.activity == Activity::kMeet) {
    text += ",\"meeting\":";
    append(text, span.meeting);
  }
  if (span.detail.step != 0) {
    text += ",\"step\":";
    append(text, std::uint64_t{span.detail.step});
  }
  if (span.background) text += ",\"background\":true";
  text += "}\n";
}

void append_loss(std::string& text, const LossPoint& point) {
  text += "{\"t\":";
  append_seconds(text, point.time.time_since_epoch());
  text += ",\"loss\":";
  append(text, point.loss);
  text += ",\"steps\":";
  append(text, point.steps);
  if (point.accuracy) {
    text += ",\"accuracy\":";
    append(text, *point.accuracy);
  }
  text += "}\n";
}

void empty(std::string& text, std::ostream& out) {
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  text.clear();
}

}  // namespace

void write_events(std::ostream& out, const RunRecord& run) {
  std::string text;
  std::vector<Span> spans;
  for (const RankRecord& record : run.ranks) {
    spans = record.journal.spans;
    std::stable_sort(spans.begin(), spans.end(),
                     [](const Span& a, const Span& b) { return a.begin < b.begin; });
    for (const Span& span : spans) {
      append_span(text, record.rank, span);
      if (text.size() > kEventBufferBytes) empty(text, out);
    }
  }
  for (const LossPoint& point : run.losses) append_loss(text, point);
  empty(text, out);
}

}  // namespace starling::record
