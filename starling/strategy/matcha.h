// MATCHA (Wang, Sahu, Yang, Joshi and Kar, "MATCHA: speeding up decentralized SGD via matching decomposition
// sampling", 2019): D-PSGD that uses a link only now and then, and links that matter to the mixing more
// often.
//
// The graph is decomposed into disjoint matchings. Matching j is active in a step with the probability p_j,
// drawn from a seed that all workers know, so that they need no messages to agree. The probabilities maximise
// the connectivity of the mean graph under a budget; the weight alpha of a link suits them
// (coordination/activation.h).
//
//   x_i <- x_i + alpha sum_j (x_j - x_i) over the active links - eta g_i(x_i)
//
// The models of step t travel while the gradient of step t is computed, on all active links at once (the
// paper's code uses them one after the other). A worker without an active link waits for nobody in that step.
// With budget 1 all links are always active: D-PSGD with W = I - alpha L.
//
// Bytes sent per worker and step: on average the sum of p_j over the worker's links, times M. If a worker
// dies, the graph closes over it (agreed_graph.h), and all come to the same new plan; until then its
// neighbours keep its share of the weight for themselves.
#pragma once

#include "starling/coordination/topology.h"
#include "starling/strategy/averaging/mixing_rules.h"
#include "starling/strategy/registry.h"

namespace starling::strategy {

class Matcha final : public Strategy {
 public:
  Matcha(const Options& options, int workers);
  Task<> run(Worker& self) const override;

 private:
  coordination::Graph graph_;
  MatchaRule rule_;  // each worker has a copy
};

StrategyEntry matcha_row();

OptionSpec budget_option();

}  // namespace starling::strategy
