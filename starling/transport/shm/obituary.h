// Learns of the end of other ranks' processes from the kernel: a pidfd becomes readable when its process
// ends, however it ends.
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

  // Begins to watch the processes that are new since the last call. A rank whose process has ended is buried
  // in the arena, now or as soon as the loop sees it.
  void update();

 private:
  void watch(Rank rank);
  void stop(Rank rank);

  std::shared_ptr<Arena> arena_;
  Rank self_;
  runtime::LoopScheduler& loop_;
  struct Watched {
    ProcessIdentity identity;
    Descriptor process;
  };
  std::vector<Watched> watched_;  // by slot
};

}  // namespace starling::transport::shm
