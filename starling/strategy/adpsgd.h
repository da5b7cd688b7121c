// Asynchronous decentralised parallel SGD (Lian, Zhang, Zhang and Liu, "Asynchronous decentralized parallel
// stochastic gradient descent", ICML'18): when a step begins a worker picks another one at random, and the
// two average their models while the gradient is computed.
//
//   x_i, x_j <- (x_i + x_j) / 2,   then   x_i <- x_i - eta g_i(x_i as it was when the step began)
//
// Nobody waits for another worker's computation: a worker that is asked answers beside its own
// (pair_exchange.h). A step takes max(computing, exchange). Exchanges of one worker follow one another.
//
//   bipartite  even ranks ask odd ones, on an exponential graph; odd ranks only answer. A worker that asks is
//              never asked, so no exchange waits for a chain of others, and there is no deadlock. When
//              workers are lost, the graph closes over them, and ranks of the same kind may ask each other,
//              too.
//   any        every worker asks any other. The lower rank is reserved first, which rules out deadlocks.
//              One exchange of a random pair of n multiplies the expected squared distance from the mean by
//              1 - 1/(n-1).
//
// Bytes sent per worker and step: on average M (bipartite) or 2 M (any); not known beforehand, as fast
// workers ask more often. A worker that dies or has made its last step is no longer asked; a worker without a
// partner trains alone.
#pragma once

#include "starling/coordination/topology.h"
#include "starling/strategy/registry.h"

namespace starling::strategy {

class Adpsgd final : public Strategy {
 public:
  Adpsgd(const Options& options, int workers);
  Task<> run(Worker& self) const override;
  bool lockstep() const override { return false; }

 private:
  bool answers(Rank rank) const { return any_ || rank % 2 == 1; }

  bool any_;
  coordination::Graph graph_;  // bipartite
};

StrategyEntry adpsgd_row();

}  // namespace starling::strategy
