// The rows of the analysis, simulated.
#pragma once

#include <functional>
#include <vector>

#include "cli/analyse/analyse_rows.h"
#include "cli/analyse/interval.h"

namespace starling::cli {

// By simulation, or compared with it.
struct SimulatedTimes {
  Interval step, samples, waiting;
};

enum class Verdict {
  kInside,   // the formula is in the interval
  kBetween,  // the interval touches what is between the bounds
  kOutside,
};

// Of all rows at once, with this chance of an interval somewhere in the table that misses the true value.
inline constexpr double kMissingChance = 0.01;

// All rows with all seeds, on so many threads. `done` is called with the share of the runs that are finished,
// by one thread at a time.
std::vector<SimulatedTimes> simulate_rows(const AnalysePlan& plan, const std::vector<AnalysisRow>& rows,
                                          unsigned threads, const std::function<void(double)>& done);

Verdict verdict_of(const AnalysePlan& plan, const AnalysisRow& row, const SimulatedTimes& simulated);

}  // namespace starling::cli
