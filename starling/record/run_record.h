// A finished run, real or simulated, as input for the summary, the trace and the tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "starling/record/journal.h"

namespace starling::record {

struct RankRecord {
  Rank rank = 0;
  int host = 0;
  bool trains = true;  // false: it only serves
  Journal journal;
  std::uint64_t bytes_sent = 0;
  std::uint64_t messages_sent = 0;
  Time begin{};
  Time end{};         // of its last step, or of its death
  std::string ended;  // empty: it did all its work; otherwise why not, as in "killed at 2.5 s"
};

// Adds the notes of a service to the record of the rank it ran on. Beside a worker its work is background:
// the worker did something else meanwhile.
inline void add_service(RankRecord& record, const Journal& service) {
  for (Span span : service.spans) {
    if (span.activity == Activity::kServe) span.background = record.trains;
    record.journal.spans.push_back(span);
  }
  record.journal.staleness.merge(service.staleness);
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
  std::vector<LossPoint> losses;
  std::optional<double> final_train_loss;  // none where nothing is computed, as in replays
  std::optional<double> final_accuracy;
  std::optional<double> consensus_distance;  // root mean square distance of the models from their mean
  bool has_target = false;
  std::optional<Duration> time_to_target;
  std::uint64_t events = 0;  // of the scheduler; 0 where not counted
};

}  // namespace starling::record
