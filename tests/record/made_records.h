// Runs written by hand: times are whole milliseconds.
#pragma once

#include <chrono>
#include <initializer_list>
#include <vector>

#include "starling/record/run_record.h"

namespace starling::record {

inline Duration ms(long long count) { return std::chrono::milliseconds(count); }
inline Time at(long long count) { return Time(ms(count)); }

inline Span span(Activity activity, long long begin, long long end, Rank whom = kNobody) {
  Span made;
  made.activity = activity;
  made.whom = whom;
  made.begin = at(begin);
  made.end = at(end);
  return made;
}
inline Span compute(long long begin, long long end) { return span(Activity::kCompute, begin, end); }
inline Span update(long long begin, long long end) { return span(Activity::kUpdate, begin, end); }
inline Span wait(Rank whom, long long begin, long long end) {
  return span(Activity::kWait, begin, end, whom);
}
inline Span serve(Rank whom, long long begin, long long end) {
  return span(Activity::kServe, begin, end, whom);
}
inline Span meet(std::uint64_t meeting, long long begin, long long end) {
  Span made = span(Activity::kMeet, begin, end);
  made.meeting = meeting;
  return made;
}
inline Span hold(Rank whom, Rank because, long long begin, long long end) {
  Span made = span(Activity::kHold, begin, end, whom);
  made.because = because;
  return made;
}
inline Span in_background(Span made) {
  made.background = true;
  return made;
}

inline Span about(Detail::Kind kind, std::uint32_t step, std::uint32_t first, std::uint32_t last, Span made) {
  made.detail = {kind, step, first, last};
  return made;
}

// One journal per rank; every rank trains from 0 to `end`.
inline RunRecord make_run(long long end, const std::vector<std::vector<Span>>& journals) {
  RunRecord run;
  run.strategy = "made-up";
  run.world = "simulated";
  run.duration = ms(end);
  for (const std::vector<Span>& spans : journals) {
    RankRecord record;
    record.rank = static_cast<Rank>(run.ranks.size());
    record.end = at(end);
    for (const Span& item : spans) record.journal.add(item);
    run.ranks.push_back(record);
  }
  return run;
}

}  // namespace starling::record
