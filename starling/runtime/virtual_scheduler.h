// Virtual time: pops the next event in the order (time, sequence) and jumps the clock there. Two runs of the
// same program are the same event by event. With a seed, events of one instant run in a random order that
// the seed determines: any order they could have had on a real machine.
#pragma once

#include "starling/runtime/scheduler.h"

namespace starling::runtime {

class VirtualScheduler final : public Scheduler {
 public:
  VirtualScheduler() = default;
  explicit VirtualScheduler(std::uint64_t seed) { shuffle(seed); }

  Time now() const override { return now_; }

  // Throws Deadlock when nothing can run and `finished` still says no.
  void drive(bool (*finished)(void*), void* argument) override;

 private:
  Time now_{};
};

}  // namespace starling::runtime
