// A finished run, real or simulated, as input for the summary, the trace and the tables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "starling/record/journal.h"
#include "starling/record/rank_times.h"
#include "starling/record/record_plan.h"

namespace starling::record {

// A rank may send its record in parts.
enum class RecordPart : std::uint8_t {
  kLast,   // the rank is done; this has everything but the spans that were sent before
  kFull,   // its journal was full; this has its spans since the part before
  kAsked,  // the same, because it was asked
};

struct RankRecord {
  Rank rank = 0;
  int host = 0;
  bool trains = true;  // false: it only serves
  Journal journal;
  FoldedSpans folded;  // that the journal no longer has
  std::uint64_t bytes_sent = 0;
  std::uint64_t messages_sent = 0;
  Time begin{};
  Time end{};         // of its last step, or of its death
  std::string ended;  // empty: it did all its work; otherwise why not, as in "killed at 2.5 s"
  RecordPart part = RecordPart::kLast;
};

// Adds the notes of a service to the record of the rank it ran on. Beside a worker its work is background:
// the worker did something else meanwhile.
inline Span beside_worker(Span span, bool trains) {
  if (span.activity == Activity::kServe) span.background = trains;
  return span;
}

inline void add_service(RankRecord& record, const Journal& service) {
  for (const Span& span : service.spans) record.journal.spans.push_back(beside_worker(span, record.trains));
  record.journal.handed += service.handed;
  record.journal.staleness.merge(service.staleness);
  record.journal.lock_waits.merge(service.lock_waits);
}

struct LossPoint {
  Time time{};
  std::uint64_t steps = 0;  // of all workers together
  double loss = 0;
  std::optional<double> accuracy;
};

struct RunRecord {
  std::string strategy;
  std::string world;  // "simulated" or "real"
  Duration duration{};
  std::vector<RankRecord> ranks;  // by rank, workers first
  RecordMode record = RecordMode::kFull;
  std::vector<LossPoint> losses;
  bool diverged = false;  // a loss was not a finite number; it may no longer be among `losses`
  std::optional<double> final_train_loss;  // none where nothing is computed, as in replays
  std::optional<double> final_accuracy;
  std::optional<double> consensus_distance;  // root mean square distance of the models from their mean
  bool has_target = false;
  std::optional<Duration> time_to_target;
  std::uint64_t events = 0;  // of the scheduler; 0 where not counted
};

// What all ranks noted of one kind.
template <class Notes>
Notes sum_of(const RunRecord& run, Notes Journal::*kind) {
  Notes all;
  for (const RankRecord& record : run.ranks) all.merge(record.journal.*kind);
  return all;
}

// A run of real processes. It lasted until the last rank's end.
inline RunRecord real_run(std::string strategy, std::vector<RankRecord> ranks) {
  RunRecord run;
  run.strategy = std::move(strategy);
  run.world = "real";
  run.ranks = std::move(ranks);
  for (const RankRecord& record : run.ranks)
    run.duration = std::max(run.duration, Duration(record.end.time_since_epoch()));
  return run;
}

}  // namespace starling::record
