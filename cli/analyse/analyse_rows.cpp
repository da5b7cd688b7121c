#include "cli/analyse/analyse_rows.h"

#include <fmt/format.h>

#include <bit>

#include "starling/analysis/backup_times.h"
#include "starling/analysis/barrier_times.h"
#include "starling/analysis/nonblocking_times.h"
#include "starling/analysis/ssp_times.h"
#include "starling/core/text.h"
#include "starling/strategy/batch/balance.h"

namespace starling::cli {

namespace {

using analysis::PieceRules;
using Counts = AnalysisRow::Counts;

AnalysisRow backup_row(const AnalysePlan& plan) {
  return {.name = concat("backup workers, ", plan.backup),
          .strategy = "ps",
          .options = {{"mode", "bsp"}, {"backup", std::to_string(plan.backup)}},
          .times = backup_times(plan.crew(), plan.backup),
          .counts = Counts::kVersions,
          .per_version = plan.workers() - plan.backup,
          .warm_up = 50};
}

AnalysisRow local_sgd_row(const AnalysePlan& plan) {
  return {.name = concat("local SGD, period ", plan.period),
          .strategy = "local-sgd",
          .options = {{"period", std::to_string(plan.period)}},
          .times = local_sgd_times(plan.crew(), plan.period),
          .waits = 1.0 / plan.period,
          .warm_up = plan.period,
          .multiple = plan.period};
}

// How far the workers drift apart takes a while to settle.
AnalysisRow ssp_row(const AnalysePlan& plan) {
  constexpr int kSettle = 100;
  return {.name = concat("SSP, staleness ", plan.staleness),
          .strategy = "ps",
          .options = {{"mode", "ssp"}, {"staleness", std::to_string(plan.staleness)}},
          .times = ssp_times(plan.crew(), plan.staleness),
          .waits = 0,
          .warm_up = kSettle + 10 * plan.staleness};
}

// A piece that ends in the instant of the signal counts. An all-reduce of a power of two of workers ends at
// the same instant for all, and so do pieces that take the same time; otherwise they end some nanoseconds
// apart, and each worker but those that make the quorum may lose one.
void allow_for_ties(const AnalysePlan& plan, const PieceRules& rules, analysis::RunTimes& times) {
  const bool drops = rules.trigger == PieceRules::Trigger::kFinishers && !rules.finish;
  const bool at_once = std::has_single_bit(static_cast<unsigned>(plan.workers()));
  if (!drops || at_once || analysis::law_of(plan.jitter).has_density()) return;
  const double lost = static_cast<double>(plan.workers() - rules.finishers) / plan.pieces;
  times.batches.low -= lost / times.step.high;
}

AnalysisRow piece_row(const AnalysePlan& plan, const analysis::PieceClock& clock, const std::string& trigger,
                      const PieceRules& rules) {
  const bool all = rules.trigger == PieceRules::Trigger::kAll;
  const std::string late = rules.finish ? "finish" : "drop";
  analysis::RunTimes times = nonblocking_times(plan.crew(), rules, clock);
  allow_for_ties(plan, rules, times);
  return {.name = concat("non-blocking, ", trigger, all ? "" : concat(", ", late)),
          .strategy = "nonblocking",
          .options = {{"pieces", std::to_string(plan.pieces)}, {"trigger", trigger}, {"late", late}},
          .times = times};
}

void add_piece_rows(const AnalysePlan& plan, std::vector<AnalysisRow>& rows) {
  using Trigger = PieceRules::Trigger;
  const auto clock = analysis::make_piece_clock(plan.jitter, plan.pieces, plan.factor_by_piece);
  const std::string quorum = concat("quorum:", plan.quorum);
  const std::string deadline = fmt::format("deadline:{:g}s", plan.deadline_seconds);
  for (const bool finish : {true, false}) {
    rows.push_back(piece_row(plan, *clock, "first", {.finishers = 1, .finish = finish}));
    rows.push_back(piece_row(plan, *clock, quorum, {.finishers = plan.quorum, .finish = finish}));
    rows.push_back(piece_row(
        plan, *clock, deadline,
        {.trigger = Trigger::kDeadline, .deadline_seconds = plan.deadline_seconds, .finish = finish}));
  }
  rows.push_back(piece_row(plan, *clock, "all", {.trigger = Trigger::kAll, .finish = true}));
}

// With limits that are the parts themselves nothing is left to be measured.
void add_balanced_rows(const AnalysePlan& plan, std::vector<AnalysisRow>& rows) {
  constexpr int kSettle = 200;
  const analysis::Crew crew = plan.crew();
  const std::vector<double> parts =
      strategy::divide_batch(crew.seconds, std::vector<double>(crew.seconds.size()),
                             static_cast<double>(plan.batch) * plan.workers());
  std::vector<std::string> limits;
  std::vector<double> shares;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    limits.push_back(concat(rank, ":", static_cast<long long>(parts[rank])));
    shares.push_back(parts[rank] / plan.batch);
  }
  rows.push_back({.name = "balanced, speeds known",
                  .strategy = "allreduce",
                  .options = {{"balance", "speed"}, {"max-batch", join_texts(limits, ",")}},
                  .times = balanced_times(crew, shares),
                  .warm_up = 2});
  rows.push_back({.name = "balanced, speeds measured",
                  .strategy = "allreduce",
                  .options = {{"balance", "speed"}},
                  .times = least_balanced_times(crew),
                  .warm_up = kSettle});
}

}  // namespace

std::vector<AnalysisRow> analysis_rows(const AnalysePlan& plan) {
  std::vector<AnalysisRow> rows;
  rows.push_back({.name = "sync", .strategy = "allreduce", .options = {}, .times = sync_times(plan.crew())});
  rows.push_back(backup_row(plan));
  rows.push_back(local_sgd_row(plan));
  rows.push_back(ssp_row(plan));
  add_piece_rows(plan, rows);
  add_balanced_rows(plan, rows);
  rows.push_back({.name = "asynchronous bound",
                  .strategy = "ps",
                  .options = {{"mode", "asp"}},
                  .times = asynchronous_times(plan.crew()),
                  .counts = Counts::kBatches,
                  .waits = 0,
                  .warm_up = 50});
  return rows;
}

}  // namespace starling::cli
