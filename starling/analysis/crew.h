// The workers of a run, as the formulas see them: a step of worker i takes f_i X seconds, where X is drawn
// anew for every step of every worker. Communication is free, except for a constant time that is added where
// all wait for an exchange.
#pragma once

#include <cmath>
#include <vector>

#include "starling/analysis/order_statistics.h"

namespace starling::analysis {

struct Crew {
  std::vector<double> seconds;  // f_i: a step without jitter, by worker
  cluster::Jitter jitter;
  double comm_seconds = 0;

  int workers() const { return static_cast<int>(seconds.size()); }
};

// Workers with the same time.
struct EqualWorkers {
  int count = 0;
  double seconds = 0;
};

// The slowest first.
std::vector<EqualWorkers> equal_workers(const Crew& crew);

// Each worker takes f_i times what the law says.
std::vector<Team> teams_of(const std::vector<EqualWorkers>& workers, const TimeLaw& law);
std::vector<Team> teams_of(const Crew& crew, const TimeLaw& law);

// A number that is known, or lies between two.
struct Bounds {
  double low = 0;
  double high = 0;

  bool exact() const { return high - low <= 1e-9 * std::abs(high); }
};

// What a strategy makes of them.
struct RunTimes {
  Bounds step;  // seconds; of a server's version, or where steps differ, of as many samples as n batches have
  Bounds batches;  // that are used, per second
  Bounds waiting;  // part of the workers' time in which they compute nothing; [0, 1] where it is not known

  bool exact() const { return step.exact() && batches.exact(); }
};

// Of steps in which all workers' batches are used and everyone takes part.
RunTimes common_steps(const Crew& crew, Bounds step);

}  // namespace starling::analysis
