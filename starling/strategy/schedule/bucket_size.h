// The size of buckets: a fixed number of bytes, or one that rank 0 searches for during the run, by the time
// that its steps take (tuning/fusion_tuner.h), and sends to the others in every step but the first, when they
// have yet to find out whether all have the same options. Where workers may be lost they agree on it in an
// exchange instead; if rank 0 is lost, the search is over and the size stays.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "starling/coordination/async_sender.h"
#include "starling/strategy/agreed_exchange.h"
#include "starling/tuning/fusion_tuner.h"

namespace starling::strategy {

struct BucketSizeOptions {
  std::size_t bytes = 0;  // if tuned, the first value
  bool tuned = false;
};

class BucketSize {
 public:
  // `agreed` must outlive it.
  BucketSize(Worker& self, AgreedExchange& agreed, const BucketSizeOptions& setting);

  bool tuned() const { return setting_.tuned; }
  // A step begins, which ends the one before. Rank 0 informs the others.
  void step_begins();
  // The size of each step that has begun, in order; the next may have begun meanwhile. Ranks other than 0
  // wait for it.
  Task<std::uint64_t> agreed();

 private:
  bool leads() { return self_.rank() == 0; }
  void note();
  Task<std::uint64_t> agree_with_members();

  Worker& self_;
  AgreedExchange& agreed_;
  BucketSizeOptions setting_;
  coordination::AsyncSender sender_;
  std::optional<tuning::FusionTuner> tuner_;  // rank 0
  std::optional<Time> began_;                 // the last step
  std::deque<std::uint64_t> told_;            // rank 0: of the steps that were not asked for yet
  bool first_ = true;                         // nothing has been agreed yet
  std::uint64_t last_;                        // agreed
};

}  // namespace starling::strategy
