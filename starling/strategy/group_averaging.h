// A worker's partial all-reduces: takes the groups from where they come and averages with them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "starling/coordination/group_source.h"
#include "starling/runtime/scope.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

// The groups of a worker, and the generator, which goes on beside it and is at work if it is its turn.
std::shared_ptr<coordination::GroupSource> join_groups(Worker& self, const coordination::GroupRules& rules);

// Averages vectors of equal meaning with the members of groups.
class GroupAveraging {
 public:
  // Equal weights, or those that the meetings have.
  GroupAveraging(Worker& self, std::shared_ptr<coordination::GroupSource> groups, bool weighted)
      : self_(self), groups_(std::move(groups)), weighted_(weighted) {}

  // One synchronisation: all groups that it takes.
  Task<> synchronise(const std::vector<Data>& vectors);
  // The same while the worker computes, which is over at a time that may be filled in meanwhile.
  Task<> synchronise_beside(const std::vector<Data>& vectors, const std::optional<Time>& computed);
  // The groups that the worker is in yet, when it has made its last step.
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
