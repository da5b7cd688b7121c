// Partial reduce (Miao et al., "Heterogeneity-aware distributed machine learning training via partial
// reduce", SIGMOD'21): the first k workers that are ready average; nobody waits for a worker that computes.
//
// The first worker to come opens a window. The group is closed when k have come, or when the window ends,
// with the workers that have come; a single one then goes on alone.
//
// Workers of similar speed would keep meeting each other and never the rest. So the groups of a period are
// watched: after enough of them to connect everybody, 2 (n-1)/(k-1), the workers that have been seen must be
// connected by common members. While they are not, a group whose members all belong to one flock waits,
// beyond its window, for a worker from outside, unless the flock is the largest: the few wait for the many,
// which come by soon, and not the other way round. When all that were seen are connected, a new period
// begins. (How the paper guards against isolated groups is not known to us; this rule is ours.)
#pragma once

#include <cstddef>
#include <map>
#include <set>

#include "starling/coordination/group_policy.h"

namespace starling::coordination {

class ReadyGroups final : public GroupPolicy {
 public:
  struct Rules {
    std::size_t size = 3;  // at least two
    Duration window{};
    bool weigh_staleness = false;  // weight 1 / (1 + how many requests behind the first of the group)
  };
  explicit ReadyGroups(const Rules& rules) : rules_(rules) {}

  Decision asked(const WorkerRoster& roster, Rank who, Time now) override;
  Decision look(const WorkerRoster& roster, Time now) override;
  void gone(Rank who) override;

 private:
  // A flock is a set of workers that the groups of this period connect; it has the number of one of its
  // members.
  void see(Rank rank);
  void grow(Rank flock, std::ptrdiff_t members);
  Rank flock_of(Rank rank);
  void unite(Rank a, Rank b);
  bool isolated();
  Rank largest_flock() const;

  bool due(const WorkerRoster& roster, Time now);
  bool long_enough(const WorkerRoster& roster) const;
  Group take_waiting();
  void close(const WorkerRoster& roster, Decision& decision);
  void end_period_if_connected(const WorkerRoster& roster);
  std::vector<double> weights(const WorkerRoster& roster, const Group& members) const;

  Rules rules_;
  Group waiting_;  // in the order they came
  Time closes_{};
  std::uint64_t rounds_ = 0;             // groups, and times that one went on alone, of this period
  std::map<Rank, Rank> parent_;          // of the workers seen in this period
  std::set<Rank> away_;                  // of these: gone, but may come back
  std::map<Rank, std::ptrdiff_t> size_;  // of each flock, without the workers that are away; none is 0
};

}  // namespace starling::coordination
