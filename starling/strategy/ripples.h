// Ripples (Luo, He, Zhuo and Qian, "Heterogeneity-aware asynchronous decentralized training", 2019), in its
// final form Prague (ASPLOS'20): after some local steps a worker averages its model with those of a small
// group, not with all.
//
//   x_i <- mean of x_j over j in G        for all i in G at once: a partial all-reduce
//
// The policy decides which workers are in the group (starling/coordination):
//
//   static   a fixed schedule, for workers of equal speed; needs no generator
//   random   a worker that asks gets a group drawn around it
//   smart    all idle workers are divided in groups at once, without those that fall behind
//   ready    the first that are ready (partial reduce, SIGMOD'21)
//
// A worker waits for the slowest of its group, no more; with `overlap` the average of x goes on while the
// next steps are computed, and their change of x is added to it when it comes:
//
//   x <- x + (mean of the group's x at the boundary) - (own x at the boundary)
//
// Without losses every average preserves the sum of all models. A group of k that sends by ring costs 2 M
// (k-1)/k bytes per member. A worker that dies is left out; its group is issued again without it. If the
// generator's process dies, that of the next living worker takes over (coordination/group_generator.h).
#pragma once

#include "starling/coordination/group_policy.h"
#include "starling/strategy/registry.h"

namespace starling::strategy {

class Ripples final : public Strategy {
 public:
  Ripples(const Options& options, int workers);
  Task<> run(Worker& self) const override;
  bool lockstep() const override { return rules_.kind == coordination::GroupRules::Kind::kStatic; }

 private:
  coordination::GroupRules rules_;
  std::uint64_t period_;
  bool average_momentum_;
  bool overlap_;
};

StrategyEntry ripples_row();

}  // namespace starling::strategy
