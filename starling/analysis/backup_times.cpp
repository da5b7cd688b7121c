#include "starling/analysis/backup_times.h"

#include <algorithm>

#include "starling/analysis/barrier_times.h"

namespace starling::analysis {

namespace {

struct Version {
  double time = 0;
  double gradients = 0;  // also those that are dropped
};

// Row by row: with more and more workers that compute.
Version version_of_chain(int workers, int backup) {
  const auto states = static_cast<std::size_t>(backup) + 1;  // by the workers on an old model
  std::vector<Version> before(states), now(states);
  for (int computing = backup + 1; computing <= workers; ++computing) {
    for (int stale = 0; stale <= std::min(backup, computing); ++stale) {
      const auto s = static_cast<std::size_t>(stale);
      const int fresh = computing - stale;
      now[s] = {1, static_cast<double>(computing)};
      if (fresh > 0) {
        now[s].time += fresh * before[s].time;
        now[s].gradients += fresh * before[s].gradients;
      }
      if (stale > 0) {
        now[s].time += stale * now[s - 1].time;
        now[s].gradients += stale * now[s - 1].gradients;
      }
      now[s].time /= computing;
      now[s].gradients /= computing;
    }
    before = now;
  }
  return before.back();
}

RunTimes exponential_backup(const Crew& crew, int backup) {
  const int n = crew.workers();
  const Version version = version_of_chain(n, backup);
  const double unit = crew.seconds.front();
  const double step = version.time * unit + crew.comm_seconds;
  const double own_step = n * step / version.gradients;
  const double batches = (n - backup) / step, waiting = 1 - unit / own_step;
  return {{step, step}, {batches, batches}, {waiting, waiting}};
}

// So many, the slowest.
std::vector<EqualWorkers> slowest(std::vector<EqualWorkers> workers, int count) {
  for (EqualWorkers& group : workers) {
    group.count = std::min(group.count, count);
    count -= group.count;
  }
  std::erase_if(workers, [](const EqualWorkers& group) { return group.count == 0; });
  return workers;
}

}  // namespace

RunTimes backup_times(const Crew& crew, int backup) {
  const std::vector<EqualWorkers> workers = equal_workers(crew);
  if (backup == 0) return sync_times(crew);
  if (crew.jitter.kind == cluster::Jitter::Kind::kExponential && workers.size() == 1)
    return exponential_backup(crew, backup);
  const int needed = crew.workers() - backup;
  const TimeLaw factor = law_of(crew.jitter);
  const double low = mean_of_smallest(teams_of(workers, factor), needed) + crew.comm_seconds;
  const double high = mean_of_largest(teams_of(slowest(workers, needed), factor)) + crew.comm_seconds;
  return {{low, high}, {needed / high, needed / low}, {0, 1}};
}

}  // namespace starling::analysis
