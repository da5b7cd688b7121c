// Decentralised parallel SGD (Lian et al., "Can decentralized algorithms outperform centralized algorithms?",
// NIPS'17): no server and no all-reduce; a worker exchanges models with its neighbours in a graph.
//
//   x_i <- sum_j W_ij x_j - eta g_i(x_i)
//
// The models of step t travel while the gradient of step t is computed. W has the Metropolis weights of the
// graph, W_ij = 1 / (1 + max(d_i, d_j)), or the same weight for every edge, the best one (mixing_rules.h). It
// is symmetric and doubly stochastic, the mean model moves as in synchronous SGD, and without gradients the
// distance from the mean shrinks by W's second eigenvalue per step.
//
// A step takes as long as the slowest of a worker and its neighbours; a straggler slows its neighbours, these
// theirs. Bytes sent per worker and step: d M. The neighbours of a worker that dies leave it out and keep its
// share of the weight for themselves until the graph has closed over it (agreed_graph.h).
#pragma once

#include <memory>

#include "starling/coordination/topology.h"
#include "starling/strategy/averaging/mixing_rules.h"
#include "starling/strategy/registry.h"

namespace starling::strategy {

class Dpsgd final : public Strategy {
 public:
  Dpsgd(const Options& options, int workers);
  Task<> run(Worker& self) const override;

 private:
  coordination::Graph graph_;
  std::unique_ptr<MixingRule> rule_;  // each worker has a copy
};

// The same with any rule, which belongs to this worker; both must outlive the run.
Task<> run_dpsgd(Worker& self, const coordination::Graph& graph, MixingRule& rule);

StrategyEntry dpsgd_row();

// "graph", for all strategies that have one.
OptionSpec graph_option(const std::string& fallback = "ring");

}  // namespace starling::strategy
