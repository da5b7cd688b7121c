// Averages gradients by one all-reduce per bucket during the backward pass, in the order in which buckets
// fill. The step waits for all.
//   wfbp    a bucket per section: wait-free backpropagation (Zhang et al., "Poseidon", ATC 2017)
//   ddp     buckets of a size, the first smaller (Li et al., "PyTorch Distributed", VLDB 2020)
#pragma once

#include "starling/strategy/schedule/bucket_schedule.h"

namespace starling::strategy {

class DdpSchedule : public BucketSchedule {
 public:
  // A bucket takes sections until it has so many bytes: those of the setting's fusion, the first one these.
  DdpSchedule(Worker& self, AgreedExchange& agreed, const TransferOptions& setting, std::size_t first_bytes,
              const runtime::Context& context)
      : BucketSchedule(self, agreed, setting, TransferScheduler::Order::kNumbers, Update::kElsewhere,
                       context),
        first_(std::max<std::size_t>(1, first_bytes / sizeof(float))) {}

 protected:
  collective::Buckets plan(std::size_t threshold) override {
    return collective::fill_buckets(places(), threshold, std::min(first_, threshold));
  }
  void filled(std::size_t bucket) override { transfers().offer(bucket); }
  std::uint64_t kind() const override { return 3; }

 private:
  std::size_t first_;  // elements
};

}  // namespace starling::strategy
