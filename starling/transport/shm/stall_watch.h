// Ends a rank of this host whose process stands still, such as one that was stopped: whoever waits for it
// would wait for ever. On one host excluded means ended, so no outsider can write to the shared memory.
//
// A rank beats while its loop runs: ten times per stall limit it raises a counter in the arena and looks at
// the counters of the others. A rank whose counter has stood still for ten looks in a row is ended. Looks are
// counted, not time, so a rank that stood still itself, perhaps with all the others, blames nobody.
//
// There is one eviction at a time, agreed by one atomic operation, so two ranks cannot end each other. If the
// rank that began it ends or stands still too, any other finishes it. A rank that a debugger holds is left
// alone.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "starling/runtime/loop_scheduler.h"
#include "starling/transport/alarm.h"
#include "starling/transport/shm/arena.h"

namespace starling::transport::shm {

class StallWatch {
 public:
  StallWatch(std::shared_ptr<Arena> arena, Rank self, runtime::LoopScheduler& loop);
  ~StallWatch() { end(); }

  // From now on the loop runs without pause. All ranks of a host have the limit of the first.
  void begin(Duration limit);
  // The loop may rest: nobody judges this rank any more.
  void end();

  // Why that rank has ended; empty if nobody ended it.
  std::string reason(Rank rank) const;

 private:
  struct Seen {
    std::uint64_t beats = 0;
    int looks = 0;        // since the counter moved
    bool spared = false;  // traced, or the signal was refused; until it beats again
  };
  // Who is to end, and who found it so, in one word.
  static std::uint64_t word(Rank by, Rank whom) {
    return (static_cast<std::uint64_t>(by) + 1) << 32 | (static_cast<std::uint64_t>(whom) + 1);
  }
  static Rank evictor(std::uint64_t word) { return static_cast<Rank>(word >> 32) - 1; }
  static Rank evicted(std::uint64_t word) { return static_cast<Rank>(word & 0xffffffff) - 1; }

  void look();
  bool stands_still(Rank rank);
  void evict(Rank rank);
  void spare(Rank rank, const std::string& why);
  void accept_own_eviction() const;
  Duration limit() const { return Duration(arena_->header().stall_limit.load()); }

  std::shared_ptr<Arena> arena_;
  Rank self_;
  runtime::LoopScheduler& loop_;
  std::vector<Seen> seen_;  // by slot
  bool beating_ = false;
  std::uint64_t beats_ = 0;  // so far: it never has a value twice, however often it begins and ends
  Time next_look_{};         // not sooner, however often it begins and ends: looks stand for time
  Alarm<StallWatch, &StallWatch::look> alarm_{*this};
};

}  // namespace starling::transport::shm
