#include "starling/analysis/crew.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace starling::analysis {

std::vector<EqualWorkers> equal_workers(const Crew& crew) {
  std::vector<double> seconds = crew.seconds;
  std::sort(seconds.begin(), seconds.end(), std::greater<>());
  std::vector<EqualWorkers> groups;
  for (const double each : seconds) {
    if (groups.empty() || groups.back().seconds != each) groups.push_back({0, each});
    ++groups.back().count;
  }
  return groups;
}

std::vector<Team> teams_of(const std::vector<EqualWorkers>& workers, const TimeLaw& law) {
  std::vector<Team> teams;
  teams.reserve(workers.size());
  for (const EqualWorkers& group : workers) teams.push_back({group.count, law.scaled(group.seconds)});
  return teams;
}

std::vector<Team> teams_of(const Crew& crew, const TimeLaw& law) {
  return teams_of(equal_workers(crew), law);
}

RunTimes common_steps(const Crew& crew, Bounds step) {
  const double all = std::accumulate(crew.seconds.begin(), crew.seconds.end(), 0.0);
  const double computing = law_of(crew.jitter).mean() * all / crew.workers();
  const int n = crew.workers();
  return {step, {n / step.high, n / step.low}, {1 - computing / step.low, 1 - computing / step.high}};
}

}  // namespace starling::analysis
