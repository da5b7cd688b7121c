#include "starling/record/summary.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

namespace starling::record {
namespace {

using Json = nlohmann::ordered_json;

Json number(std::optional<double> value) { return value && std::isfinite(*value) ? Json(*value) : Json(); }

Json share(Duration part, const RankRecord& record) {
  const Duration whole = record.end - record.begin;
  return whole > Duration{} ? Json(seconds_of(part) / seconds_of(whole)) : Json();
}

// One entry per worker, or per rank that only serves.
template <class Value>
Json list(const RunRecord& run, bool workers, Value value) {
  Json entries = Json::array();
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    if (run.ranks[i].trains == workers) entries.push_back(value(i));
  }
  return entries;
}

// Strategies without a server note nothing: they apply gradients to the model they were computed from.
Json staleness(const RunRecord& run) {
  const Staleness all = sum_of(run, &Journal::staleness);
  Json histogram = Json::array();
  for (std::size_t i = 0; i < all.buckets.size(); ++i) {
    if (all.buckets[i] == 0) continue;
    histogram.push_back({Staleness::first_of(i), Staleness::last_of(i), all.buckets[i]});
  }
  return {{"mean", all.mean()},
          {"p50", all.percentile(50)},
          {"p99", all.percentile(99)},
          {"max", all.max},
          {"histogram", std::move(histogram)}};
}

// Null where no strategy took a lock.
Json lock_waits(const RunRecord& run) {
  const LockWaits all = sum_of(run, &Journal::lock_waits);
  if (all.count == 0) return {};
  const auto fraction = [&](std::size_t i) {
    return share(run.ranks[i].journal.lock_waits.total, run.ranks[i]);
  };
  return {{"count", all.count},
          {"contended", all.contended},
          {"seconds", seconds_of(all.total)},
          {"fraction_per_worker", list(run, true, fraction)}};
}

// Null where no strategy asked for groups.
Json generator(const RunRecord& run) {
  const Generated all = sum_of(run, &Journal::generated);
  if (all.requests == 0) return {};
  const double seconds = seconds_of(run.duration);
  return {{"requests", all.requests},
          {"requests_per_second", seconds > 0 ? static_cast<double>(all.requests) / seconds : 0},
          {"groups", all.groups},
          {"mean_group_size",
           all.groups > 0 ? static_cast<double>(all.members) / static_cast<double>(all.groups) : 0},
          {"censuses", all.censuses}};
}

// Null where it was not tuned.
Json fusion(const RunRecord& run) {
  for (const RankRecord& record : run.ranks) {
    const Fusion& fusion = record.journal.fusion;
    if (fusion.bytes == 0) continue;
    Json trials = Json::array();
    for (const Fusion::Trial& trial : fusion.trials) {
      trials.push_back({{"bytes", trial.bytes}, {"step_seconds", trial.seconds}});
    }
    return {{"bytes", fusion.bytes}, {"settled", fusion.settled}, {"trials", std::move(trials)}};
  }
  return {};
}

Json unhappy_ends(const RunRecord& run) {
  Json json = Json::object();
  for (const RankRecord& record : run.ranks) {
    const std::string& why = record.ended.empty() ? record.journal.stopped : record.ended;
    if (!why.empty()) json[std::to_string(record.rank)] = why;
  }
  return json;
}

void add_progress(Json& json, const RunRecord& run) {
  const std::uint64_t samples = samples_of(run);
  const double time = seconds_of(run.duration);
  json["seconds"] = time;
  json["samples"] = samples;
  json["samples_per_second"] = time > 0 ? Json(static_cast<double>(samples) / time) : Json();
  json["steps_per_worker"] = list(run, true, [&](std::size_t i) { return run.ranks[i].journal.steps; });
  json["skipped_steps_per_worker"] =
      list(run, true, [&](std::size_t i) { return run.ranks[i].journal.skipped; });
  json["final_train_loss"] = number(run.final_train_loss);
  json["final_accuracy"] = number(run.final_accuracy);
  json["diverged"] = diverged(run);
  if (run.has_target) {
    json["time_to_target_seconds"] = run.time_to_target ? Json(seconds_of(*run.time_to_target)) : Json();
  }
}

// Only for a real run: the result on the test set.
void add_test(Json& json, const RunRecord& run) {
  json["test_accuracy"] = number(run.final_accuracy);
  Json curve = Json::array();
  for (const LossPoint& point : run.losses) {
    if (!point.accuracy) continue;
    curve.push_back({seconds_of(point.time.time_since_epoch()), *point.accuracy});
  }
  json["accuracy_curve"] = std::move(curve);
}

void add_traffic(Json& json, const RunRecord& run) {
  const auto bytes = [&](std::size_t i) { return run.ranks[i].bytes_sent; };
  json["bytes_sent_per_worker"] = list(run, true, bytes);
  json["bytes_sent_by_services"] = list(run, false, bytes);
  json["peak_step_bytes_per_worker"] =
      list(run, true, [&](std::size_t i) { return run.ranks[i].journal.step_traffic.peak_bytes; });
  json["messages_sent_per_worker"] =
      list(run, true, [&](std::size_t i) { return run.ranks[i].messages_sent; });
}

void add_waiting(Json& json, const RunRecord& run, const WaitAnalysis& waits) {
  const auto fraction = [&](Duration RankTimes::*part) {
    return list(run, true, [&, part](std::size_t i) {
      return run.record == RecordMode::kOff ? Json() : share(waits.ranks[i].*part, run.ranks[i]);
    });
  };
  json["compute_fraction_per_worker"] = fraction(&RankTimes::computing);
  json["wait_fraction_per_worker"] = fraction(&RankTimes::waiting);
  json["transfer_fraction_per_worker"] = fraction(&RankTimes::transferring);
  json["code_fraction_per_worker"] = fraction(&RankTimes::coding);
  json["unattributed_fraction_per_worker"] = fraction(&RankTimes::unattributed);
  json["most_waited_for"] = waits.most_waited_for ? Json(*waits.most_waited_for) : Json();
  const auto blame = [&](std::size_t i) { return seconds_of(waits.ranks[i].blame); };
  json["waited_for_seconds_per_worker"] = list(run, true, blame);
  json["waited_for_seconds_by_services"] = list(run, false, blame);
}

// What was kept in detail. The sums are of the whole run.
Json record_kept(const RunRecord& run) {
  Json json;
  json["mode"] = run.record == RecordMode::kFull      ? "full"
                 : run.record == RecordMode::kSummary ? "summary"
                                                      : "off";
  std::uint64_t folded = 0;
  std::uint64_t missing = 0;
  Time from{};
  Time to{};
  for (const RankRecord& record : run.ranks) {
    folded += record.folded.spans;
    missing += record.folded.missing;
    from = record.folded.from;
    to = record.folded.to;
  }
  json["spans_in_sums_only"] = folded;
  json["detail_until_seconds"] = folded > 0 ? Json(seconds_of(from.time_since_epoch())) : Json();
  json["detail_from_seconds"] = folded > 0 ? Json(seconds_of(to.time_since_epoch())) : Json();
  json["lost_spans"] = missing;
  return json;
}

// Objects over several lines, arrays on one: an array may have an entry for each of thousands of workers.
void print(std::string& text, const Json& json, const std::string& indent) {
  if (!json.is_object() || json.empty()) {
    text += json.dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  const std::string inner = indent + "  ";
  text += "{";
  const char* separator = "\n";
  for (const auto& [key, value] : json.items()) {
    text += separator + inner + Json(key).dump() + ": ";
    print(text, value, inner);
    separator = ",\n";
  }
  text += "\n" + indent + "}";
}

}  // namespace

std::uint64_t samples_of(const RunRecord& run) {
  std::uint64_t samples = 0;
  for (const RankRecord& record : run.ranks) samples += record.trains ? record.journal.samples : 0;
  return samples;
}

bool diverged(const RunRecord& run) {
  return run.diverged || (run.final_train_loss && !std::isfinite(*run.final_train_loss)) ||
         std::any_of(run.losses.begin(), run.losses.end(),
                     [](const LossPoint& point) { return !std::isfinite(point.loss); });
}

std::string summary_json(const RunRecord& run, const WaitAnalysis& waits,
                         std::optional<double> wall_seconds) {
  const auto workers = std::count_if(run.ranks.begin(), run.ranks.end(),
                                     [](const RankRecord& record) { return record.trains; });
  Json json;
  json["strategy"] = run.strategy;
  json["world"] = run.world;
  json["workers"] = workers;
  json["services"] = static_cast<std::int64_t>(run.ranks.size()) - workers;
  add_progress(json, run);
  if (run.world == "real") add_test(json, run);
  add_traffic(json, run);
  add_waiting(json, run, waits);
  json["consensus_distance"] = number(run.consensus_distance);
  json["staleness"] = staleness(run);
  json["lock_waits"] = lock_waits(run);
  json["generator"] = generator(run);
  json["fusion"] = fusion(run);
  json["ended"] = unhappy_ends(run);
  json["record"] = record_kept(run);
  json["events"] = run.events == 0 ? Json() : Json(run.events);
  if (wall_seconds) json["wall_seconds"] = number(wall_seconds);
  std::string text;
  print(text, json, "");
  return text + "\n";
}

}  // namespace starling::record
