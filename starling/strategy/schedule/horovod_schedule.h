// Horovod (Sergeev and Del Balso, 2018): once in a cycle the workers find out which gradients all of them
// have, and average these, put together up to the size of a buffer. The step waits for all.
#pragma once

#include "starling/strategy/schedule/bucket_schedule.h"

namespace starling::strategy {

class HorovodSchedule final : public BucketSchedule {
 public:
  HorovodSchedule(Worker& self, AgreedExchange& agreed, const TransferOptions& setting, Duration cycle,
                  const runtime::Context& context)
      : BucketSchedule(self, agreed, setting, TransferScheduler::Order::kNumbers, Update::kElsewhere,
                       context),
        cycle_(cycle) {}

 private:
  // A bucket per section; how many go together is decided in each cycle.
  collective::Buckets plan(std::size_t threshold) override {
    buffer_ = threshold;
    return collective::fill_buckets(places(), 1, 1);
  }
  std::size_t jobs() const override { return 0; }
  std::uint64_t kind() const override { return 5 + 8 * buffer_; }
  void opened() override;
  void filled(std::size_t bucket) override { ready_[bucket] = 1; }

  Task<> cycle_through();
  Task<> agree_on_ready();
  Task<> send(Slice buckets);

  Duration cycle_;
  std::size_t buffer_ = 0;     // elements
  std::vector<float> ready_;   // by bucket: 1 if this worker has it
  std::vector<float> common_;  // 1 if all have it
  std::vector<bool> sent_;
};

}  // namespace starling::strategy
