#include "cli/simulate/simulate_seeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

#include "starling/core/error.h"
#include "starling/record/summary.h"
#include "starling/record/wait_analysis.h"

namespace starling::cli {
namespace {

using Json = nlohmann::ordered_json;

// The numbers that are compared over the seeds, and their keys in a summary.
constexpr std::pair<const char*, const char*> kNumbers[] = {
    {"seconds", "seconds"},
    {"samples/s", "samples_per_second"},
    {"final loss", "final_train_loss"},
    {"final accuracy", "final_accuracy"},
    {"seconds to target", "time_to_target_seconds"},
    {"mean wait share", "wait_fraction_per_worker"},
    {"consensus distance", "consensus_distance"},
};

// Null where the summary has none.
Json number_in(const Json& summary, const char* key) {
  if (!summary.contains(key)) return nullptr;
  const Json& value = summary[key];
  if (!value.is_array()) return value;
  double sum = 0;
  std::size_t count = 0;
  for (const Json& item : value) {
    if (item.is_null()) continue;  // a worker that was never there
    sum += item.get<double>();
    ++count;
  }
  return sum / static_cast<double>(std::max<std::size_t>(count, 1));
}

struct SeedResult {
  Json summary;
  std::string failure;
  std::exception_ptr error;
};

SeedResult run_seed(const SimulatePlan& plan, std::uint64_t seed) {
  SeedResult result;
  sim::Simulation simulation = plan.simulation;
  simulation.seed = seed;
  try {
    const record::RunRecord run = sim::simulate(simulation);
    result.summary = {{"seed", seed}};
    result.summary.update(Json::parse(record::summary_json(run, record::analyse_waits(run))));
    result.failure = unplanned_end(plan, run);
    if (!result.failure.empty()) result.failure = concat("seed ", seed, ": ", result.failure);
  } catch (const Error& error) {
    result.error = std::make_exception_ptr(Error(concat("seed ", seed, ": ", error.what())));
  } catch (...) {
    result.error = std::current_exception();
  }
  return result;
}

// All seeds, or until one fails.
std::vector<SeedResult> run_seeds(const SimulatePlan& plan, unsigned threads,
                                  const std::function<void(std::size_t)>& done) {
  std::vector<SeedResult> results(plan.seeds.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex telling;
  std::size_t count = 0;
  const auto work = [&] {
    for (std::size_t at = next++; at < plan.seeds.size() && !failed; at = next++) {
      results[at] = run_seed(plan, plan.seeds[at]);
      if (results[at].error) failed = true;
      const std::lock_guard lock(telling);
      done(++count);
    }
  };
  std::vector<std::jthread> workers;
  const auto useful = std::min<std::size_t>(threads, plan.seeds.size());
  for (std::size_t i = 0; i < useful; ++i) workers.emplace_back(work);
  workers.clear();
  return results;
}

}  // namespace

double Spread::mean() const {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double Spread::deviation() const {
  if (values.size() < 2) return 0;
  const double centre = mean();
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

// Linear between the two nearest values.
double Spread::quantile(double share) const {
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

SeedStudy study_seeds(const SimulatePlan& plan, unsigned threads,
                      const std::function<void(std::size_t)>& done) {
  SeedStudy study;
  study.summaries = Json::array();
  for (SeedResult& result : run_seeds(plan, threads, done)) {
    if (result.error) std::rethrow_exception(result.error);
    study.diverged += result.summary["diverged"].get<bool>() ? 1 : 0;
    if (study.failure.empty()) study.failure = std::move(result.failure);
    study.summaries.push_back(std::move(result.summary));
  }
  for (const auto& [name, key] : kNumbers) {
    Spread spread{name, {}};
    for (const Json& summary : study.summaries) {
      const Json number = number_in(summary, key);
      if (number.is_number()) spread.values.push_back(number.get<double>());
    }
    if (!spread.values.empty()) study.spreads.push_back(std::move(spread));
  }
  return study;
}

std::string study_text(const SeedStudy& study) {
  std::string text = fmt::format("{:<20}{:>6}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}\n", "", "seeds",
                                 "mean", "deviation", "min", "25 %", "median", "75 %", "max");
  for (const Spread& spread : study.spreads) {
    text += fmt::format("{:<20}{:>6}{:>12.5g}{:>12.4g}", spread.name, spread.values.size(), spread.mean(),
                        spread.deviation());
    for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0})
      text += fmt::format("{:>12.5g}", spread.quantile(share));
    text += '\n';
  }
  if (study.diverged > 0) {
    text += fmt::format("{} of {} seeds diverged: the loss is no longer a number\n", study.diverged,
                        study.summaries.size());
  }
  return text;
}

Json study_json(const SimulatePlan& plan, const SeedStudy& study) {
  Json json{
      {"strategy", plan.simulation.strategy->name}, {"seeds", plan.seeds}, {"diverged", study.diverged}};
  for (const Spread& spread : study.spreads) {
    Json& entry = json["spread"][spread.name];
    entry = {{"seeds", spread.values.size()}, {"mean", spread.mean()}, {"deviation", spread.deviation()}};
    for (const int percent : {0, 5, 25, 50, 75, 95, 100}) {
      entry[fmt::format("q{}", percent)] = spread.quantile(percent / 100.0);
    }
  }
  json["runs"] = study.summaries;
  return json;
}

}  // namespace starling::cli
