#include "cli/analyse/analyse_simulation.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>

#include "cli/analyse/step_meter.h"
#include "starling/sim/simulation.h"

namespace starling::cli {

namespace {

using Counts = AnalysisRow::Counts;
using MeteredRun = std::vector<MeteredWorker>;  // by worker

// Workers that make steps of their own make fewer where they are slower, so that all are there all the time.
MeterWindow window_of(const AnalysePlan& plan, const AnalysisRow& row) {
  const std::vector<double> seconds = plan.crew().seconds;
  const double fastest = *std::min_element(seconds.begin(), seconds.end());
  const auto multiple = static_cast<std::uint64_t>(row.multiple);
  const std::uint64_t steps = (plan.steps + multiple - 1) / multiple * multiple;
  MeterWindow window;
  for (const double each : seconds) {
    const double pace = row.counts == Counts::kSteps ? 1 : fastest / each;
    const auto first = static_cast<std::uint64_t>(std::ceil(row.warm_up * pace)) + 1;
    const auto own = static_cast<std::uint64_t>(std::ceil(static_cast<double>(steps) * pace));
    window.first.push_back(first);
    window.last.push_back(first + own);
  }
  return window;
}

MeteredRun run_once(const AnalysePlan& plan, const AnalysisRow& row, std::uint64_t seed) {
  const auto meter = std::make_shared<StepMeter>(static_cast<std::size_t>(plan.batch), window_of(plan, row));
  sim::Simulation simulation;
  simulation.strategy = &strategy::find_strategy(row.strategy);
  simulation.options = row.options;
  simulation.cluster = plan.cluster;
  simulation.workload = meter;
  simulation.observer = meter.get();
  simulation.optimizer.learning_rate = 1;
  simulation.step_seconds = plan.step_seconds;
  simulation.steps = std::numeric_limits<std::uint64_t>::max();
  simulation.target_loss = 0.5;
  simulation.stop_at_target = true;
  simulation.record.mode = record::RecordMode::kOff;
  simulation.seed = seed;
  sim::simulate(simulation);
  return meter->measured();
}

class Table {
 public:
  explicit Table(const std::vector<MeteredRun>& runs) : runs_(runs) {}

  // By worker.
  template <class Number>
  Measurements by_worker(Number&& number) const {
    Measurements all;
    for (const MeteredRun& run : runs_) {
      std::vector<double>& row = all.emplace_back();
      for (const MeteredWorker& worker : run) row.push_back(number(worker));
    }
    return all;
  }

  // Added up.
  template <class Number>
  Measurements in_all(Number&& number) const {
    Measurements all = by_worker(number);
    for (std::vector<double>& row : all) row = {std::accumulate(row.begin(), row.end(), 0.0)};
    return all;
  }

 private:
  const std::vector<MeteredRun>& runs_;
};

// By row and seed. Throws the error of a run that fails.
std::vector<std::vector<MeteredRun>> run_all(const AnalysePlan& plan, const std::vector<AnalysisRow>& rows,
                                             unsigned threads, const std::function<void(double)>& done) {
  const std::size_t seeds = plan.seeds.size(), all = rows.size() * seeds;
  std::vector<std::vector<MeteredRun>> runs(rows.size(), std::vector<MeteredRun>(seeds));
  std::atomic<std::size_t> next{0};
  std::size_t finished = 0;
  std::exception_ptr error;
  std::mutex telling;
  const auto work = [&] {
    for (std::size_t at = next++; at < all; at = next++) {
      try {
        runs[at / seeds][at % seeds] = run_once(plan, rows[at / seeds], plan.seeds[at % seeds]);
      } catch (...) {
        const std::lock_guard lock(telling);
        error = std::current_exception();
        next = all;
      }
      const std::lock_guard lock(telling);
      done(static_cast<double>(++finished) / static_cast<double>(all));
    }
  };
  std::vector<std::jthread> workers;
  for (std::size_t i = 0; i < std::min<std::size_t>(threads, all); ++i) workers.emplace_back(work);
  workers.clear();
  if (error) std::rethrow_exception(error);
  return runs;
}

// An event that none of `steps` has shown may still have a chance of ln(1 / chance) / steps. It is allowed to
// change a step by as much as its time.
double unseen_events(const AnalysePlan& plan, double chance) {
  const analysis::TimeLaw factor = analysis::law_of(plan.jitter);
  if (!factor.has_density() && factor.atoms().size() == 1) return 0;
  return -std::log(chance) / (static_cast<double>(plan.steps) * static_cast<double>(plan.seeds.size()));
}

// The time of exchanges that all wait for is not simulated, but added here.
SimulatedTimes times_of(const AnalysePlan& plan, const AnalysisRow& row, const std::vector<MeteredRun>& runs,
                        double chance) {
  const double quantile = student_quantile(chance, plan.seeds.size()), unseen = unseen_events(plan, chance);
  const Table table(runs);
  const bool versions = row.counts == Counts::kVersions;
  const auto count = [=](const MeteredWorker& worker) { return versions ? worker.versions : worker.steps; };
  const auto seconds = [&, count](const MeteredWorker& worker) {
    return worker.seconds + plan.comm_seconds * row.waits * count(worker);
  };
  const auto samples = [](const MeteredWorker& worker) { return worker.samples; };
  const auto computing = [](const MeteredWorker& worker) { return worker.computing; };
  const double n = plan.workers();
  SimulatedTimes times;
  times.step = sum_of_ratios(table.in_all(seconds), table.in_all(count), quantile);
  times.samples = sum_of_ratios(table.by_worker(samples), table.by_worker(seconds), quantile);
  if (versions) times.samples = inverse(times.step, static_cast<double>(row.per_version) * plan.batch);
  if (row.counts == Counts::kBatches) times.step = inverse(times.samples, n * plan.batch);
  times.waiting = sum_of_ratios(table.by_worker(computing), table.by_worker(seconds), quantile);
  times.waiting = {1 - times.waiting.middle / n, times.waiting.half / n + unseen};
  for (Interval* const interval : {&times.step, &times.samples}) interval->half += unseen * interval->middle;
  return times;
}

bool agree(const analysis::Bounds& bounds, const Interval& interval, double scale) {
  constexpr double kNanoseconds = 1e-6;  // relative: the simulator's clock, and its messages
  const double slack = interval.half + kNanoseconds * scale;
  return bounds.low <= interval.middle + slack && interval.middle - slack <= bounds.high;
}

}  // namespace

std::vector<SimulatedTimes> simulate_rows(const AnalysePlan& plan, const std::vector<AnalysisRow>& rows,
                                          unsigned threads, const std::function<void(double)>& done) {
  constexpr double kNumbers = 3;  // in a row
  const double chance = kMissingChance / (kNumbers * static_cast<double>(rows.size()));
  const std::vector<std::vector<MeteredRun>> runs = run_all(plan, rows, threads, done);
  std::vector<SimulatedTimes> times;
  for (std::size_t row = 0; row < rows.size(); ++row)
    times.push_back(times_of(plan, rows[row], runs[row], chance));
  return times;
}

Verdict verdict_of(const AnalysePlan& plan, const AnalysisRow& row, const SimulatedTimes& simulated) {
  const analysis::Bounds samples{row.times.batches.low * plan.batch, row.times.batches.high * plan.batch};
  const bool agrees = agree(row.times.step, simulated.step, simulated.step.middle) &&
                      agree(samples, simulated.samples, simulated.samples.middle) &&
                      agree(row.times.waiting, simulated.waiting, 1);
  if (!agrees) return Verdict::kOutside;
  return row.times.exact() ? Verdict::kInside : Verdict::kBetween;
}

}  // namespace starling::cli
