// Synchronous data-parallel SGD: every step the gradients of all workers are averaged, and every worker makes
// the same update. All models stay equal bit for bit.
//
// A step takes max_i t_i + t_ar. Bytes sent per worker and step: 2 M (n-1)/n with ring or halving.
//
// With `bucket` the gradient is averaged in parts, the last layers first, each as soon as the backward pass
// has come by it (Li et al., "PyTorch Distributed: experiences on accelerating data parallel training",
// VLDB 2020): a step takes between max(t, t_ar) and t + t_ar.
#pragma once

#include "starling/strategy/registry.h"

namespace starling::strategy {

class AllReduce final : public Strategy {
 public:
  AllReduce(const Options& options, int workers);
  Task<> run(Worker& self) const override { return bucket_ ? run_in_buckets(self) : run_whole(self); }

 private:
  Task<> run_whole(Worker& self) const;
  Task<> run_in_buckets(Worker& self) const;

  collective::Choice algorithm_;
  std::optional<std::size_t> bucket_;  // bytes
};

Row allreduce_row();

// Shared with the other strategies that average over everyone.
OptionSpec algorithm_option();
collective::Choice algorithm_of(const Options& options);
// What rank `rank` of `workers` sends for one all-reduce of `elements` float32.
std::uint64_t all_reduce_bytes(const Options& options, int workers, std::size_t elements, Rank rank);

}  // namespace starling::strategy
