// Non-blocking SGD ("Non-blocking SGD", arXiv 2211.00889; Anytime Minibatch, ICLR'19, is its ancestor): the
// batch is cut in K pieces, whose gradients add up. When the first worker has finished its K, all of them
// update from what they have finished:
//
//   x <- x - eta (sum_i A_i) / (sum_i m_i)      A_i = sum of the gradients of m_i <= K pieces, all taken at x
//
// No gradient is stale, and no worker is waited for longer than one of its pieces takes. A step takes the
// time of the fastest worker's batch, plus at most one piece of the slowest, plus that of the exchange. What
// a worker has not computed it computes in the next step: pieces are given out by demand, each once an epoch.
//
// The exchange is that of another strategy, the base:
//
//   ring     the gradients of all are averaged (allreduce.h); all models stay equal
//   dpsgd    models are averaged with neighbours (dpsgd.h), and each worker updates with its own gradient,
//   matcha   the same with some of the neighbours (matcha.h)      A_i / m_i
//   ripples  ours: models are averaged in groups (ripples.h). A worker ends its step when others wait for it
//            in a group, not when the first of all has finished: the group generator calls it.
#pragma once

#include <memory>

#include "starling/coordination/group_policy.h"
#include "starling/coordination/topology.h"
#include "starling/strategy/averaging/mixing_rules.h"
#include "starling/strategy/batch/step_end.h"
#include "starling/strategy/registry.h"

namespace starling::strategy {

class NonBlocking final : public Strategy {
 public:
  NonBlocking(const Options& options, int workers);
  Task<> run(Worker& self) const override;
  int pieces() const override { return rules_.pieces; }
  bool lockstep() const override { return base_ != Base::kRipples; }

 private:
  enum class Base { kRing, kDpsgd, kMatcha, kRipples };
  struct StepTotals;
  class TotalsExchange;

  static Base base_of(const Options& options);
  static coordination::Graph graph_of(Base base, const Options& options, int workers);
  Task<> run_on_ring(Worker& self) const;
  Task<> run_on_graph(Worker& self) const;
  Task<> run_in_groups(Worker& self) const;
  double weight_in(const StepTotals& all, const Worker& self) const;
  Task<> update_alone(Worker& self) const;

  Base base_;
  StepEnd::Rules rules_;
  collective::Choice algorithm_;
  bool weigh_workers_;                // equally, however many samples they have used
  bool by_pieces_;                    // scales the gradient
  coordination::Graph graph_;         // of kDpsgd and kMatcha
  std::unique_ptr<MixingRule> rule_;  // each worker has a copy
  coordination::GroupRules groups_;   // of kRipples
};

StrategyEntry nonblocking_row();

}  // namespace starling::strategy
