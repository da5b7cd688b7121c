// DeAR (Zhang, Shi, Wang and Chu, "DeAR: accelerating distributed deep learning with fine-grained all-reduce
// pipelining", ICDCS 2023): an all-reduce is a reduce-scatter and an all-gather, and these need not follow
// each other at once. The gradients of a bucket are reduce-scattered as soon as the backward pass has filled
// it; its all-gather is due when the next forward pass comes to its first section. The same maths as
// synchronous SGD.
//
// A step takes at best max(t_forward, t_ag) + max(t_backward, t_rs), and less where the network has nothing
// else to do during the backward pass: an all-gather begins as soon as its reduce-scatter is over and nothing
// more urgent is ready, which is any reduce-scatter and any all-gather of sections further to the front.
//
// The option `gather`:
//   weights    after the reduce-scatter each worker updates its slice of the bucket and the slices are
//              gathered: every worker has 1/n of the optimiser's work and state;
//   gradients  as in the paper: the mean gradients are gathered, and every worker updates everything, section
//              by section before the forward pass; any optimiser will do.
#pragma once

#include "starling/strategy/batch/balance.h"
#include "starling/strategy/registry.h"
#include "starling/strategy/schedule/bucket_schedule.h"

namespace starling::strategy {

class Dear final : public Strategy {
 public:
  Dear(const Options& options, int workers);
  Task<> run(Worker& self) const override;
  bool equal_batches() const override { return !balance_.by_speed; }

  enum class Gather { kAuto, kWeights, kGradients };

 private:
  BucketSchedule::TransferOptions schedule_;
  Gather gather_;
  std::size_t edge_;  // bytes
  std::size_t front_;
  BalanceRules balance_;
};

StrategyEntry dear_row();

}  // namespace starling::strategy
