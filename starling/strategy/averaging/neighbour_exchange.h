// A worker's exchange of models with its neighbours, beside the computing of a step: the models of the step
// are posted when it begins, and mixed when it is over.
//
//   plan.listener = &exchange;
//   co_await graphs.begin(self.step() + 1);
//   co_await self.compute(plan);
//   co_await exchange.finish();
//   exchange.mix();
//
// Which neighbours, and with which weights, says a MixingRule. Nobody is waited for in a step without active
// links. A neighbour that is lost sends nothing; the worker keeps the weight of its link for itself.
#pragma once

#include <deque>
#include <vector>

#include "starling/strategy/averaging/agreed_graph.h"
#include "starling/strategy/averaging/mixing_rules.h"
#include "starling/strategy/worker.h"

namespace starling::strategy {

class NeighbourExchange final : public StepListener {
 public:
  // All of them must outlive it.
  NeighbourExchange(Worker& self, const AgreedGraph& graphs, MixingRule& rule);

  bool by_section() const override { return false; }
  void begins() override;

  // Once after each step: all models have come and gone, or their other ends are lost.
  Task<> finish();

  // x_i += sum_j w_ij (x_j - x_i), which leaves equal models exactly as they are.
  void mix() const;

 private:
  Worker& self_;
  const AgreedGraph& graphs_;
  MixingRule& rule_;
  std::vector<Link> links_;     // active in this step
  std::vector<Buffer> models_;  // of their other ends; as many as were ever needed
  std::vector<bool> heard_;     // whether their models came
  std::deque<transport::Receiving> received_;
  std::deque<transport::Sending> sent_;
};

}  // namespace starling::strategy
