#include "starling/analysis/nonblocking_times.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "starling/analysis/signal.h"

namespace starling::analysis {

namespace {

// What one worker of each team contributes, times their number.
template <class Function>
double over_teams(const std::vector<EqualWorkers>& workers, Function&& of_team) {
  double sum = 0;
  for (std::size_t team = 0; team < workers.size(); ++team) sum += workers[team].count * of_team(team);
  return sum;
}

std::vector<double> in_units(std::vector<double> corners, double unit) {
  for (double& corner : corners) corner /= unit;
  return corners;
}

double computing_of_all(const Crew& crew) {
  return law_of(crew.jitter).mean() * std::accumulate(crew.seconds.begin(), crew.seconds.end(), 0.0);
}

PieceStep step_of_all(const Crew& crew, const Signal& signal) {
  return {mean_of_largest(signal.teams()), static_cast<double>(crew.workers() * signal.clock().pieces()),
          computing_of_all(crew)};
}

PieceStep step_of_quorum(const PieceRules& rules, const Signal& signal) {
  const std::vector<EqualWorkers>& workers = signal.workers();
  const PieceClock& clock = signal.clock();
  const std::vector<double> corners = corners_of(signal.teams());
  const auto goes_on = [&](std::size_t team) {
    return [&, team](double s) { return signal.not_before(s * workers[team].seconds, team); };
  };
  PieceStep step{signal.mean()};
  step.pieces = over_teams(workers, [&](std::size_t team) {
    const std::vector<double> own = in_units(corners, workers[team].seconds);
    const double done = rules.finish ? clock.end().mean_of(goes_on(team), own) : 1;
    return clock.pieces_done(goes_on(team), own) + 1 - done;
  });
  if (rules.finish) {
    step.seconds += signal.mean_rest();
    step.computing = over_teams(workers, [&](std::size_t team) {
      const std::vector<double> own = in_units(corners, workers[team].seconds);
      return workers[team].seconds * clock.seconds_begun(goes_on(team), own);
    });
  } else {
    step.computing = signal.mean_computing();
  }
  return step;
}

// A piece that ends at the deadline is the last.
PieceStep step_of_deadline(const PieceRules& rules, const Signal& signal) {
  constexpr double kJustBefore = 1 - 1e-7, kJustAfter = 1 + 1e-9;
  const std::vector<EqualWorkers>& workers = signal.workers();
  const PieceClock& clock = signal.clock();
  const double deadline = rules.deadline_seconds;
  const auto until = [](double limit) { return [limit](double s) { return s <= limit ? 1.0 : 0.0; }; };
  PieceStep step{signal.mean_until(deadline)};
  step.pieces = over_teams(workers, [&](std::size_t team) {
    const double unit = deadline / workers[team].seconds;
    return clock.pieces_done(until(unit * kJustAfter), {unit}) + (rules.finish ? clock.end().above(unit) : 0);
  });
  if (rules.finish) {
    step.seconds += signal.mean_rest_after(deadline);
    step.computing = over_teams(workers, [&](std::size_t team) {
      const double unit = deadline / workers[team].seconds * kJustBefore;
      return workers[team].seconds * clock.seconds_begun(until(unit), {unit});
    });
  } else {
    step.computing = signal.mean_computing_until(deadline);
  }
  return step;
}

}  // namespace

PieceStep piece_step(const Crew& crew, const PieceRules& rules, const PieceClock& clock) {
  const Signal signal(crew, rules, clock);
  if (rules.trigger == PieceRules::Trigger::kAll) return step_of_all(crew, signal);
  return rules.trigger == PieceRules::Trigger::kDeadline ? step_of_deadline(rules, signal)
                                                         : step_of_quorum(rules, signal);
}

RunTimes nonblocking_times(const Crew& crew, const PieceRules& rules, const PieceClock& clock) {
  const PieceStep step = piece_step(crew, rules, clock);
  const double seconds = step.seconds + crew.comm_seconds;
  const double batches = step.pieces / clock.pieces() / seconds;
  const double waiting = 1 - step.computing / (crew.workers() * seconds);
  return {{seconds, seconds}, {batches, batches}, {waiting, waiting}};
}

}  // namespace starling::analysis
