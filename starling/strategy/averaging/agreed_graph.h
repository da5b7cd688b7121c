// The graph of neighbours in each step, which closes over workers that are lost. Both ends of an edge must
// use it in the same step, so the workers agree from which step on a graph without the lost ones holds: when
// a view comes into force, every worker reports the last step that it has begun and begins no other until it
// has all reports; the new graph holds from the step after the last one that was begun anywhere.
//
// A view may be followed by another before some workers have all reports of it. Others may then have begun a
// step with its graph, so reports name all changes so far. A worker that lacked a change has begun no step
// that the change concerns.
//
// Without an agreed membership the graph stays as it is.
#pragma once

#include <cstdint>
#include <memory>

#include "starling/coordination/topology.h"
#include "starling/strategy/worker.h"

namespace starling::strategy {

class AgreedGraph {
 public:
  // One per worker and run, from its strategy. The graph must outlive it.
  AgreedGraph(Worker& self, const coordination::Graph& graph);

  // Returns when the graph of this step is settled. Steps are begun one after the other.
  Task<> begin(std::uint64_t step);
  // Of a step that was begun.
  const coordination::Graph& of(std::uint64_t step) const;

 private:
  struct State;

  const coordination::Graph& whole_;
  std::shared_ptr<State> state_;  // null: no agreed membership. Shared with the task that answers the others
};

}  // namespace starling::strategy
