#include "cli/analyse/analyse_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "starling/core/text.h"

namespace starling::cli {

namespace {

using analysis::Bounds;
using Json = nlohmann::ordered_json;

// So many decimals that the step between two texts is small beside the number or its error.
int decimals_for(double size, int digits) {
  constexpr int kMost = 4;
  if (size <= 0) return kMost;
  return std::clamp(digits - 1 - static_cast<int>(std::floor(std::log10(size))), 0, kMost);
}

// Without the sign of what is 0 but for rounding.
std::string number_text(double number) {
  constexpr double kRounding = 1e-6;
  return fmt::format("{:.{}f}", std::abs(number) < kRounding ? 0 : number, decimals_for(number, 4));
}

// "1.234", "1.1..1.3", ">= 1.1", "<= 3", "-" where nothing is known.
std::string bounds_text(const Bounds& bounds, double highest) {
  if (bounds.exact()) return number_text(bounds.low);
  if (bounds.low <= 0 && bounds.high >= highest) return "-";
  if (bounds.low <= 0) return concat("<= ", number_text(bounds.high));
  if (bounds.high >= highest) return concat(">= ", number_text(bounds.low));
  return concat(number_text(bounds.low), "..", number_text(bounds.high));
}

std::string interval_text(const Interval& interval) {
  const int decimals = std::min(decimals_for(interval.half, 2), decimals_for(std::abs(interval.middle), 5));
  return fmt::format("{:.{}f} ± {:.{}f}", std::abs(interval.middle), decimals, interval.half, decimals);
}

const char* word_of(Verdict verdict) {
  if (verdict == Verdict::kInside) return "inside";
  return verdict == Verdict::kBetween ? "between" : "OUTSIDE";
}

// Widths count characters, of which "±" has two bytes.
std::string padded(const std::string& text, std::size_t width) {
  const std::size_t characters = text.size() - (text.find("±") == std::string::npos ? 0 : 1);
  return std::string(width > characters ? width - characters : 0, ' ') + text;
}

constexpr std::size_t kName = 38, kFormula = 16, kMeasured = 18;

std::string heading(bool simulated) {
  const std::string measured = simulated ? padded("simulated", kMeasured) : "";
  std::string text(kName, ' ');
  for (const char* const what : {"s per step", "samples/s", "waiting"})
    text += padded(what, kFormula) + measured;
  return text + "\n";
}

std::string row_text(const AnalysePlan& plan, const AnalysisRow& row, const SimulatedTimes* simulated) {
  const auto& [step, batches, waiting] = row.times;
  const auto cell = [&](const std::string& formula, const Interval SimulatedTimes::*number) {
    return padded(formula, kFormula) +
           (simulated == nullptr ? "" : padded(interval_text(simulated->*number), kMeasured));
  };
  std::string text = row.name;
  text.resize(kName, ' ');
  text += cell(bounds_text(step, INFINITY), &SimulatedTimes::step);
  text += cell(bounds_text({batches.low * plan.batch, batches.high * plan.batch}, INFINITY),
               &SimulatedTimes::samples);
  text += cell(bounds_text(waiting, 1), &SimulatedTimes::waiting);
  if (simulated != nullptr) text += fmt::format("   {}", word_of(verdict_of(plan, row, *simulated)));
  return text + "\n";
}

std::string slow_text(const AnalysePlan& plan) {
  std::vector<std::string> slow;
  for (std::size_t rank = 0; rank < plan.cluster.workers.size(); ++rank) {
    const double speed = plan.cluster.workers[rank].speed;
    if (speed != 1) slow.push_back(fmt::format("{}:{:g}", rank, 1 / speed));
  }
  return slow.empty() ? "" : concat(", slow ", join_texts(slow, ","));
}

Json bounds_json(const Bounds& bounds) {
  Json high = bounds.high;
  if (!std::isfinite(bounds.high)) high = nullptr;
  return {{"low", bounds.low}, {"high", high}};
}

Json interval_json(const Interval& interval) {
  return {{"mean", interval.middle}, {"half_width", interval.half}};
}

Json row_json(const AnalysePlan& plan, const AnalysisRow& row, const SimulatedTimes* simulated) {
  const auto& [step, batches, waiting] = row.times;
  Json json{
      {"name", row.name}, {"strategy", row.strategy}, {"options", row.options}, {"exact", row.times.exact()}};
  json["formula"] = {
      {"seconds_per_step", bounds_json(step)},
      {"samples_per_second", bounds_json({batches.low * plan.batch, batches.high * plan.batch})},
      {"waiting_share", bounds_json(waiting)}};
  if (simulated == nullptr) return json;
  json["simulated"] = {{"seconds_per_step", interval_json(simulated->step)},
                       {"samples_per_second", interval_json(simulated->samples)},
                       {"waiting_share", interval_json(simulated->waiting)}};
  json["verdict"] = word_of(verdict_of(plan, row, *simulated));
  return json;
}

std::string verdicts_text(const AnalysePlan& plan, const std::vector<AnalysisRow>& rows,
                          const std::vector<SimulatedTimes>& simulated) {
  std::size_t outside = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    outside += verdict_of(plan, rows[i], simulated[i]) == Verdict::kOutside ? 1 : 0;
  return fmt::format(
      "\n{} seeds, {} steps each. The intervals hold together: with a chance of {:g} % all of them have the "
      "true "
      "value.\ninside: the formula is in the interval; between: the interval is between the bounds. {}\n",
      plan.seeds.size(), plan.steps, 100 * (1 - kMissingChance),
      outside == 0 ? "No row is outside." : fmt::format("{} of {} rows are OUTSIDE.", outside, rows.size()));
}

}  // namespace

std::string analysis_text(const AnalysePlan& plan, const std::vector<AnalysisRow>& rows,
                          const std::vector<SimulatedTimes>& simulated) {
  std::string text =
      fmt::format("{} workers, jitter {}{}, a factor for each {}, {:g} s a step, {:g} s an exchange\n\n",
                  plan.workers(), text_of(plan.jitter), slow_text(plan),
                  plan.factor_by_piece ? "piece" : "step", plan.step_seconds, plan.comm_seconds);
  text += heading(!simulated.empty());
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += row_text(plan, rows[i], simulated.empty() ? nullptr : &simulated[i]);
  if (!simulated.empty()) text += verdicts_text(plan, rows, simulated);
  return text;
}

Json analysis_json(const AnalysePlan& plan, const std::vector<AnalysisRow>& rows,
                   const std::vector<SimulatedTimes>& simulated) {
  Json json{{"workers", plan.workers()},
            {"jitter", text_of(plan.jitter)},
            {"jitter_span", plan.factor_by_piece ? "piece" : "step"},
            {"seconds_without_jitter", plan.crew().seconds},
            {"comm_seconds", plan.comm_seconds},
            {"batch", plan.batch}};
  if (!simulated.empty()) {
    json["seeds"] = plan.seeds;
    json["steps"] = plan.steps;
    json["confidence_of_table"] = 1 - kMissingChance;
  }
  json["rows"] = Json::array();
  for (std::size_t i = 0; i < rows.size(); ++i)
    json["rows"].push_back(row_json(plan, rows[i], simulated.empty() ? nullptr : &simulated[i]));
  return json;
}

}  // namespace starling::cli
