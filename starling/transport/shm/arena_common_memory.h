// The block of common memory that lies in the arena. Its offset is a word of the arena's header; ranks that
// wait are counted there, so that changes cost nobody anything while none waits.
#pragma once

#include <memory>

#include "starling/transport/shared_memory.h"
#include "starling/transport/shm/arena.h"
#include "starling/transport/transport.h"

namespace starling::transport::shm {

class ArenaCommonMemory final : public CommonMemory {
 public:
  // `watches` must outlive it.
  ArenaCommonMemory(std::shared_ptr<Arena> arena, SharedMemory& watches)
      : arena_(std::move(arena)), watches_(watches) {}

  std::byte* find() const override;
  void put(const Memory& block) override;
  bool has(Rank rank) const override { return arena_->has(rank); }
  bool gone(Rank rank) const override { return arena_->has(rank) && arena_->gone(rank); }
  runtime::Task<> wait_until(std::function<bool()> condition) override;
  void tell_others() override;

 private:
  std::shared_ptr<Arena> arena_;
  SharedMemory& watches_;
  Memory put_;  // kept until this rank leaves; after that nothing of its heap is reused
};

}  // namespace starling::transport::shm
