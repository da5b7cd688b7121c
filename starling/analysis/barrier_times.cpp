#include "starling/analysis/barrier_times.h"

#include <limits>

#include "starling/analysis/draw_sums.h"

namespace starling::analysis {

namespace {

// A slowness with which all of the crew would get as much done if nobody waited.
double common_seconds(const Crew& crew) {
  double speed = 0;
  for (const double seconds : crew.seconds) speed += 1 / seconds;
  return crew.workers() / speed;
}

}  // namespace

RunTimes sync_times(const Crew& crew) {
  const double step = mean_of_largest(teams_of(crew, law_of(crew.jitter))) + crew.comm_seconds;
  return common_steps(crew, {step, step});
}

RunTimes local_sgd_times(const Crew& crew, int period) {
  const TimeLaw sum = DrawSums(crew.jitter, period).of(period);
  const double step = (mean_of_largest(teams_of(crew, sum)) + crew.comm_seconds) / period;
  return common_steps(crew, {step, step});
}

RunTimes balanced_times(const Crew& crew, const std::vector<double>& shares) {
  Crew balanced = crew;
  for (std::size_t i = 0; i < shares.size(); ++i) balanced.seconds[i] *= shares[i];
  return sync_times(balanced);
}

RunTimes asynchronous_times(const Crew& crew) {
  const double step = common_seconds(crew) * law_of(crew.jitter).mean();
  const double batches = crew.workers() / step;
  return {{step, step}, {batches, batches}, {0, 0}};
}

RunTimes least_balanced_times(const Crew& crew) {
  const TimeLaw factor = law_of(crew.jitter);
  const double common = common_seconds(crew);
  double sum = 0;
  for (const EqualWorkers& group : equal_workers(crew)) {
    const std::vector<Team> team{{group.count, factor}};
    sum += group.count / group.seconds * common / crew.workers() / mean_of_largest(team);
  }
  const double step = common / sum + crew.comm_seconds;
  return {{step, std::numeric_limits<double>::infinity()}, {0, crew.workers() / step}, {0, 1}};
}

}  // namespace starling::analysis
