// ByteScheduler (Peng et al., "A generic communication scheduler for distributed DNN training acceleration",
// SOSP 2019) on all-reduce: tensors are cut in pieces, and of the pieces that are ready those furthest to the
// front go first, a window of them at a time. The next forward pass waits at each section for its own pieces
// only.
#pragma once

#include "starling/strategy/schedule/bucket_schedule.h"

namespace starling::strategy {

class PrioritySchedule final : public BucketSchedule {
 public:
  PrioritySchedule(Worker& self, AgreedExchange& agreed, const TransferOptions& setting,
                   const runtime::Context& context)
      : BucketSchedule(self, agreed, setting, TransferScheduler::Order::kLeader, Update::kBySection,
                       context) {}

 private:
  collective::Buckets plan(std::size_t threshold) override {
    return collective::cut_in_pieces(places(), threshold);
  }
  // The last bucket, which is the furthest to the front, has the lowest number.
  std::size_t turned(std::size_t number) const { return buckets().size() - 1 - number; }
  void filled(std::size_t bucket) override { transfers().offer(turned(bucket)); }
  Transfer transfer(std::size_t job) override { return average(turned(job)); }
  void transferred(std::size_t job) override { arrive(turned(job)); }
  std::uint64_t kind() const override { return 4; }
};

}  // namespace starling::strategy
