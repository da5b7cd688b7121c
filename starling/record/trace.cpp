#include "starling/record/trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "starling/core/text.h"
#include "starling/record/json_append.h"

namespace starling::record {
namespace {

constexpr std::size_t kTraceBufferBytes = 1 << 16;
constexpr int kKinds = 6;
constexpr std::array<std::string_view, kKinds> kNames = {"compute",  "update", "wait",
                                                         "transfer", "serve",  "code"};
// By Detail::Kind.
constexpr std::array<std::string_view, 6> kSubjects = {"",           "forward",        "backward",
                                                       "all-reduce", "reduce-scatter", "all-gather"};

class Writer {
 public:
  explicit Writer(std::ostream& out) : out_(out) {}

  void begin(std::string_view phase, int process) {
    text_ += first_ ? "\n{\"ph\":" : ",\n{\"ph\":";
    first_ = false;
    append_quoted(text_, phase);
    text_ += ",\"pid\":";
    append(text_, process);
  }
  std::string& text() { return text_; }
  void end() {
    text_ += '}';
    if (text_.size() > kTraceBufferBytes) flush();
  }
  void flush() {
    out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }

 private:
  std::ostream& out_;
  std::string text_;
  bool first_ = true;
};

// `track` 0: for the process.
template <class Value>
void write_metadata(Writer& writer, int process, int track, std::string_view what, std::string_view key,
                    const Value& value) {
  writer.begin("M", process);
  std::string& text = writer.text();
  if (track != 0) {
    text += ",\"tid\":";
    append(text, track);
  }
  text += ",\"name\":";
  append_quoted(text, what);
  text += ",\"args\":{";
  append_quoted(text, key);
  text += ':';
  if constexpr (std::is_same_v<Value, int>) {
    append(text, value);
  } else {
    append_quoted(text, value);
  }
  text += '}';
  writer.end();
}

void write_process(Writer& writer, int process, const std::string& name, int place) {
  write_metadata(writer, process, 0, "process_name", "name", name);
  write_metadata(writer, process, 0, "process_sort_index", "sort_index", place);
}

bool has_detail(const ResolvedSpan& piece) { return piece.detail.kind != Detail::Kind::kNone; }
std::string_view subject_of(const ResolvedSpan& piece) {
  return kSubjects[static_cast<std::size_t>(piece.detail.kind)];
}

void append_name(std::string& text, const ResolvedSpan& piece) {
  if (has_detail(piece) && (piece.doing == Doing::kCompute || piece.doing == Doing::kTransfer)) {
    text += subject_of(piece);
    return;
  }
  text += kNames[static_cast<std::size_t>(piece.doing)];
  if (piece.whom != kNobody) {
    text += piece.doing == Doing::kWait ? " for " : " ";
    append(text, piece.whom);
  }
}

// A wait is named after the rank to blame, so the collective that it was part of is named here.
void append_detail(std::string& text, const ResolvedSpan& piece) {
  text += ",\"args\":{";
  if (piece.doing == Doing::kWait) {
    text += "\"of\":";
    append_quoted(text, subject_of(piece));
    text += ',';
  }
  text += "\"step\":";
  append(text, std::uint64_t{piece.detail.step});
  text += ",\"first\":";
  append(text, std::uint64_t{piece.detail.first});
  text += ",\"last\":";
  append(text, std::uint64_t{piece.detail.last});
  text += '}';
}

void write_piece(Writer& writer, int process, int track, const ResolvedSpan& piece) {
  writer.begin("X", process);
  std::string& text = writer.text();
  text += ",\"tid\":";
  append(text, track);
  text += ",\"ts\":";
  append_microseconds(text, piece.begin.time_since_epoch());
  text += ",\"dur\":";
  append_microseconds(text, piece.end - piece.begin);
  text += ",\"name\":\"";
  append_name(text, piece);
  text += '"';
  if (has_detail(piece)) append_detail(text, piece);
  writer.end();
}

// The tracks of one kind of activity in one process: the first for the rank's own, the others for the
// background; all for the background if the rank has none of its own.
class Tracks {
 public:
  // Background spans must come after the own ones, and by time.
  int track_for(const ResolvedSpan& piece, int kind) {
    if (!piece.background) {
      ends_.assign(1, Time::max());
      return number(kind, 0);
    }
    const auto free = std::find_if(ends_.begin(), ends_.end(), [&](Time end) { return end <= piece.begin; });
    const auto lane = static_cast<std::size_t>(free - ends_.begin());
    if (free == ends_.end()) ends_.push_back({});
    ends_[lane] = piece.end;
    return number(kind, static_cast<int>(lane));
  }

  void write_names(Writer& writer, int process, int kind) const {
    for (std::size_t lane = 0; lane < ends_.size(); ++lane) {
      std::string name(kNames[static_cast<std::size_t>(kind)]);
      if (lane > 0) name += concat(" ", lane + 1);
      const int track = number(kind, static_cast<int>(lane));
      write_metadata(writer, process, track, "thread_name", "name", name);
      write_metadata(writer, process, track, "thread_sort_index", "sort_index",
                     kind * 1000 + static_cast<int>(lane));
    }
  }

 private:
  static int number(int kind, int lane) { return 1 + kind + kKinds * lane; }

  std::vector<Time> ends_;  // of the last span on each track so far
};

// Numbered from 1: viewers take process 0 for the idle one.
void write_rank(Writer& writer, const RankRecord& record, const std::vector<ResolvedSpan>& pieces) {
  const int process = record.rank + 1;
  write_process(writer, process, concat(record.trains ? "worker " : "service ", record.rank), process);
  std::array<Tracks, kKinds> tracks;
  for (const ResolvedSpan& piece : pieces) {
    const auto kind = static_cast<std::size_t>(piece.doing);
    write_piece(writer, process, tracks[kind].track_for(piece, static_cast<int>(kind)), piece);
  }
  for (int kind = 0; kind < kKinds; ++kind) {
    tracks[static_cast<std::size_t>(kind)].write_names(writer, process, kind);
  }
}

void write_losses(Writer& writer, const RunRecord& run) {
  if (run.losses.empty()) return;
  const int process = static_cast<int>(run.ranks.size()) + 1;
  write_process(writer, process, "training", 0);
  for (const LossPoint& point : run.losses) {
    if (!std::isfinite(point.loss)) continue;
    writer.begin("C", process);
    std::string& text = writer.text();
    text += ",\"ts\":";
    append_microseconds(text, point.time.time_since_epoch());
    text += ",\"name\":\"loss\",\"args\":{\"loss\":";
    append(text, point.loss);
    text += '}';
    writer.end();
  }
}

}  // namespace

void write_trace(std::ostream& out, const RunRecord& run, const WaitAnalysis& waits) {
  out << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  Writer writer(out);
  write_losses(writer, run);
  for (std::size_t i = 0; i < run.ranks.size(); ++i) write_rank(writer, run.ranks[i], waits.pieces[i]);
  writer.flush();
  out << "\n]}\n";
}

}  // namespace starling::record
