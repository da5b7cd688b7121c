// Synchronous data-parallel SGD: every step the gradients of all workers are averaged, and every worker makes
// the same update. All models stay equal bit for bit.
//
// A step takes max_i t_i + t_ar. Bytes sent per worker and step: 2 M (n-1)/n with ring or halving.
//
// With `balance` the global batch is divided in proportion to the workers' speeds (batch/balance.h).
//
// With a schedule the gradients are sent in parts during the backward pass; each says in which parts, in
// which order, and what the next step waits for:
//   wfbp, ddp  ddp_schedule.h      horovod  horovod_schedule.h
//   mgwfbp     mgwfbp_schedule.h         priority priority_schedule.h
#pragma once

#include "starling/strategy/batch/balance.h"
#include "starling/strategy/compressed/compression_options.h"
#include "starling/strategy/registry.h"
#include "starling/strategy/schedule/bucket_schedule.h"

namespace starling::strategy {

class AllReduce final : public Strategy {
 public:
  AllReduce(const Options& options, int workers);
  Task<> run(Worker& self) const override;
  bool equal_batches() const override { return !balance_.by_speed; }

 private:
  Task<> run_whole(Worker& self, AgreedExchange& agreed) const;
  // The step waits for all transfers.
  Task<> run_coded(Worker& self, AgreedExchange& agreed) const;
  Task<> run_and_wait(Worker& self, BucketSchedule& schedule, AgreedExchange& agreed) const;
  // The next forward pass waits for them.
  Task<> run_on(Worker& self, BucketSchedule& schedule, AgreedExchange& agreed) const;

  std::string schedule_;
  BucketSchedule::TransferOptions transfers_;
  std::size_t first_;  // bytes
  Duration cycle_;
  BalanceRules balance_;
  CompressionRules compression_;
};

StrategyEntry allreduce_row();

// Shared with the other strategies that average over all workers.
OptionSpec algorithm_option();
collective::Choice algorithm_of(const Options& options);
// The bytes that rank `rank` of `workers` sends for one all-reduce of `elements` float32. None if that
// depends on which workers share a host.
std::optional<std::uint64_t> all_reduce_bytes(const Options& options, int workers, std::size_t elements,
                                              Rank rank);

}  // namespace starling::strategy
