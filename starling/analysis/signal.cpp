#include "starling/analysis/signal.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace starling::analysis {

namespace {

constexpr double kNegligible = 1e-10;  // probability
constexpr std::size_t kPanels = 14;    // of integrals over two times
constexpr double kSame = 1e-9;         // relative

// So many of them, the ends included.
std::vector<double> thinned(const std::vector<double>& corners) {
  if (corners.size() <= kPanels + 1) return corners;
  std::vector<double> kept;
  for (std::size_t i = 0; i <= kPanels; ++i) kept.push_back(corners[i * (corners.size() - 1) / kPanels]);
  return kept;
}

}  // namespace

Signal::Signal(const Crew& crew, const PieceRules& rules, const PieceClock& clock)
    : workers_(equal_workers(crew)),
      clock_(clock),
      teams_(teams_of(workers_, clock.end())),
      finishers_(rules.finishers) {}

double Signal::mean() const { return mean_of_smallest(teams_, finishers_); }

double Signal::few_done(const std::vector<double>& done, std::size_t team) const {
  std::vector<double> counts{1};
  for (std::size_t other = 0; other < teams_.size(); ++other) {
    counts = times_power(counts, 1 - done[other], done[other], teams_[other].count - (other == team ? 1 : 0),
                         static_cast<std::size_t>(finishers_));
  }
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

double Signal::not_before(double s, std::size_t team) const {
  std::vector<double> done;
  for (const Team& other : teams_) done.push_back(1 - other.law.from(s));
  return few_done(done, team);
}

double Signal::mean_computing() const {
  return integral(nodes_between(corners_of(teams_)), [&](double t) {
    std::vector<double> done;
    for (const Team& team : teams_) done.push_back(1 - team.law.above(t));
    double sum = 0;
    for (std::size_t i = 0; i < teams_.size(); ++i)
      sum += teams_[i].count * teams_[i].law.above(t) * few_done(done, i);
    return sum;
  });
}

// Of prod (no + yes z), the coefficients from z^q on.
double Signal::at_least_quorum(const std::vector<double>& yes, const std::vector<double>& no) const {
  std::vector<double> counts{1};
  double all = 1;
  for (std::size_t i = 0; i < teams_.size(); ++i) {
    counts = times_power(counts, no[i], yes[i], teams_[i].count, static_cast<std::size_t>(finishers_));
    all *= std::pow(yes[i] + no[i], teams_[i].count);
  }
  return all - std::accumulate(counts.begin(), counts.end(), 0.0);
}

// The coefficient of z^(q - 1) without one worker of the team.
double Signal::last_of_quorum(std::size_t team, const std::vector<double>& yes,
                              const std::vector<double>& no) const {
  const auto quorum = static_cast<std::size_t>(finishers_);
  std::vector<double> counts{1};
  for (std::size_t i = 0; i < teams_.size(); ++i) {
    counts = times_power(counts, no[i], yes[i], teams_[i].count - (i == team ? 1 : 0), quorum);
  }
  return counts.size() < quorum ? 0 : counts[quorum - 1];
}

std::vector<PieceClock::Function> Signal::late_after(double t) const {
  std::vector<PieceClock::Function> late;
  for (const EqualWorkers& group : workers_) {
    late.push_back([of_unit = clock_.late_after(t / group.seconds), unit = group.seconds](double w) {
      return of_unit(w / unit);
    });
  }
  return late;
}

// Where times have atoms only, all jumps are kept; otherwise enough places for a smooth function.
std::vector<double> Signal::corners_after(double t) const {
  std::vector<double> corners;
  for (const EqualWorkers& group : workers_) {
    for (const double corner : clock_.corners_after(t / group.seconds))
      corners.push_back(corner * group.seconds);
  }
  const std::vector<PieceClock::Function> late = late_after(t);
  corners = corners_from(t, std::move(corners));
  const auto matters = [&](double w) {
    return std::any_of(late.begin(), late.end(), [&](const auto& each) { return each(w) > kNegligible; });
  };
  const auto end = std::partition_point(corners.begin() + 1, corners.end(), matters);
  corners.erase(end == corners.end() ? end : end + 1, corners.end());
  return clock_.end().has_density() ? thinned(corners) : corners;
}

// Integral over w > t of P(T = t) - P(T = t, all late ones end before w).
double Signal::rest_at_atom(double t) const {
  const std::vector<PieceClock::Function> late = late_after(t);
  const auto joint = [&](double w) {
    std::vector<double> until, rest, before, from;
    for (std::size_t i = 0; i < teams_.size(); ++i) {
      const double above = teams_[i].law.above(t), not_below = teams_[i].law.from(t);
      const double in_time = above - late[i](w);
      until.push_back(1 - above);
      rest.push_back(in_time);
      before.push_back(1 - not_below);
      from.push_back(not_below - above + in_time);
    }
    return at_least_quorum(until, rest) - at_least_quorum(before, from);
  };
  const std::vector<double> corners = corners_after(t);
  const double all = joint(2 * corners.back());
  if (all < kNegligible) return 0;
  return integral(nodes_between(corners), [&](double w) { return all - joint(w); });
}

// The same, of the density of T at t.
double Signal::rest_at(double t) const {
  const std::vector<PieceClock::Function> late = late_after(t);
  std::vector<double> done, above;
  for (const Team& team : teams_) {
    above.push_back(team.law.above(t));
    done.push_back(1 - above.back());
  }
  const auto joint = [&](const std::vector<double>& in_time) {
    double sum = 0;
    for (std::size_t i = 0; i < teams_.size(); ++i) {
      const double density = teams_[i].law.density(t);
      if (density > 0) sum += teams_[i].count * density * last_of_quorum(i, done, in_time);
    }
    return sum;
  };
  const double all = joint(above);
  if (all < kNegligible) return 0;
  std::vector<double> in_time(above.size());
  return integral(nodes_between(corners_after(t)), [&](double w) {
    for (std::size_t i = 0; i < above.size(); ++i) in_time[i] = above[i] - late[i](w);
    return all - joint(in_time);
  });
}

double Signal::mean_rest() const {
  double sum = 0;
  std::vector<double> atoms;
  for (const Team& team : teams_) {
    for (const Atom& atom : team.law.atoms()) atoms.push_back(atom.at);
  }
  std::sort(atoms.begin(), atoms.end());
  double before = 0;
  for (const double atom : atoms) {
    if (atom > before * (1 + kSame)) sum += rest_at_atom(atom);
    before = atom;
  }
  if (!clock_.end().has_density()) return sum;
  std::vector<double> corners = corners_of(teams_);
  const auto possible = [&](double t) {
    std::vector<double> done;
    for (const Team& team : teams_) done.push_back(1 - team.law.above(t));
    return few_done(done, teams_.size());
  };
  std::erase_if(corners,
                [&](double t) { return possible(t) > 1 - kNegligible || possible(t) < kNegligible; });
  if (corners.size() < 2) return sum;
  return sum + integral(nodes_between(thinned(corners)), [&](double t) { return rest_at(t); });
}

std::vector<Node> Signal::nodes_until(double deadline) const {
  std::vector<double> corners = corners_of(teams_);
  std::erase_if(corners, [&](double corner) { return corner >= deadline; });
  corners.push_back(deadline);
  return nodes_between(corners);
}

double Signal::mean_until(double deadline) const {
  return integral(nodes_until(deadline), [&](double t) {
    double all = 1;
    for (const Team& team : teams_) all *= std::pow(1 - team.law.above(t), team.count);
    return 1 - all;
  });
}

double Signal::mean_computing_until(double deadline) const {
  return integral(nodes_until(deadline), [&](double t) {
    double sum = 0;
    for (const Team& team : teams_) sum += team.count * team.law.above(t);
    return sum;
  });
}

double Signal::mean_rest_after(double deadline) const {
  constexpr double kJustBefore = 1 - 1e-7;
  const double until = deadline * kJustBefore;
  const std::vector<PieceClock::Function> late = late_after(until);
  const std::vector<double> corners = corners_from(deadline, corners_after(until));
  return integral(nodes_between(corners), [&](double w) {
    double all = 1;
    for (std::size_t i = 0; i < late.size(); ++i) all *= std::pow(1 - late[i](w), teams_[i].count);
    return 1 - all;
  });
}

}  // namespace starling::analysis
