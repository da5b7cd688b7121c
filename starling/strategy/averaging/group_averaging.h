// A worker's partial all-reduces: takes groups from their source and averages with their members.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "starling/coordination/group_source.h"
#include "starling/runtime/scope.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

// The groups of a worker, and the generator, which runs beside it and is active when it is its turn.
std::shared_ptr<coordination::GroupSource> join_groups(Worker& self, const coordination::GroupRules& rules);

// Averages vectors of equal meaning with the members of groups.
class GroupAveraging {
 public:
  // Uses equal weights, or those of the groups.
  GroupAveraging(Worker& self, std::shared_ptr<coordination::GroupSource> groups, bool weighted)
      : self_(self), groups_(std::move(groups)), weighted_(weighted) {}

  // One synchronisation: runs all its groups.
  Task<> synchronise(const std::vector<Data>& vectors);
  // The same while the worker computes; `computed` is the end of that, and may be filled in meanwhile.
  Task<> synchronise_beside(const std::vector<Data>& vectors, const std::optional<Time>& computed);
  // Whether others may wait for this worker in a group (GroupSource::called()).
  bool called() const { return groups_->called(); }
  // Runs the groups that the worker is still in, after its last step.
  Task<> leave(const std::vector<Data>& vectors);

 private:
  using Next = Task<std::optional<coordination::GroupTurn>> (coordination::GroupSource::*)();
  Task<> meet_all(Next next, const std::vector<Data>& vectors, const std::optional<Time>* computed);
  Task<> meet(const coordination::GroupTurn& meeting, const std::vector<Data>& vectors,
              const std::optional<Time>* computed);

  Worker& self_;
  std::shared_ptr<coordination::GroupSource> groups_;
  bool weighted_;
};

}  // namespace starling::strategy
