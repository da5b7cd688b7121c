// The signal that ends a step of non-blocking SGD, and what is then under way.
#pragma once

#include <span>
#include <vector>

#include "starling/analysis/integral.h"
#include "starling/analysis/nonblocking_times.h"
#include "starling/analysis/piece_clock.h"

namespace starling::analysis {

class Signal {
 public:
  // The clock must outlive it.
  Signal(const Crew& crew, const PieceRules& rules, const PieceClock& clock);

  const std::vector<EqualWorkers>& workers() const { return workers_; }
  // The times that all pieces take.
  std::span<const Team> teams() const { return teams_; }
  const PieceClock& clock() const { return clock_; }

  // Of a quorum.
  double mean() const;
  // P(T >= s), if a worker of this team is not done before s.
  double not_before(double s, std::size_t team) const;
  // E of the time from the signal to the end of the last piece under way.
  double mean_rest() const;
  // E of the seconds that all workers have computed at the signal.
  double mean_computing() const;

  // Of a deadline.
  double mean_until(double deadline) const;
  double mean_computing_until(double deadline) const;
  // From the deadline to the end of the last piece under way; one that ends at the deadline is not.
  double mean_rest_after(double deadline) const;

 private:
  // P(fewer than q of the others are done), if a worker of this team is not and the others are with these
  // probabilities.
  double few_done(const std::vector<double>& done, std::size_t team) const;
  double rest_at_atom(double t) const;
  double rest_at(double t) const;
  double at_least_quorum(const std::vector<double>& yes, const std::vector<double>& no) const;
  double last_of_quorum(std::size_t team, const std::vector<double>& yes,
                        const std::vector<double>& no) const;
  std::vector<PieceClock::Function> late_after(double t) const;
  std::vector<double> corners_after(double t) const;
  std::vector<Node> nodes_until(double deadline) const;

  std::vector<EqualWorkers> workers_;
  const PieceClock& clock_;
  std::vector<Team> teams_;
  int finishers_;
};

}  // namespace starling::analysis
