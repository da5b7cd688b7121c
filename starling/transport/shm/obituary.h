// Learns of the end of other ranks' processes from the kernel: a pidfd becomes readable when its process
// ends, however it ends. A pid alone could belong to a later process, so its start time is compared too.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "starling/runtime/loop_scheduler.h"
#include "starling/transport/shm/arena.h"

namespace starling::transport::shm {

class Obituary {
 public:
  Obituary(std::shared_ptr<Arena> arena, Rank self, runtime::LoopScheduler& loop);
  ~Obituary();

  // Begins to watch the ranks that have been introduced since the last call. A rank whose process has ended
  // is buried in the arena, now or as soon as the loop sees it.
  void update();

 private:
  void watch(Rank rank);
  void stop(Rank rank);

  std::shared_ptr<Arena> arena_;
  Rank self_;
  runtime::LoopScheduler& loop_;
  std::vector<Descriptor> processes_;
};

}  // namespace starling::transport::shm
