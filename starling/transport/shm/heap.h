// Allocates blocks of one rank's part of the arena. Its bookkeeping is private to the rank, so a rank that
// dies in the middle of an allocation harms nobody; the memory it had allocated stays readable.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "starling/transport/shm/arena.h"

namespace starling::transport::shm {

class Heap {
 public:
  Heap(std::shared_ptr<Arena> arena, Rank rank);

  // Aligned to a cache line; the content is unspecified. Throws Error when the heap or the machine is full.
  std::span<std::byte> allocate(std::size_t bytes);
  void release(std::span<std::byte> bytes);

  // Blocks that overlap `bytes` are not reused before `settled` says so.
  void quarantine(std::span<const std::byte> bytes, std::function<bool()> settled);

  // The transport ends: nothing will be allocated any more, and nothing is freed, because others may still
  // read messages here.
  void close() {
    closed_ = true;
    quarantines_.clear();
  }

  std::size_t used() const { return used_; }

 private:
  struct Quarantine {
    std::span<const std::byte> bytes;
    std::function<bool()> settled;
  };

  void reclaim();
  bool quarantined(std::span<const std::byte> bytes) const;
  void make_free(std::size_t offset, std::size_t size);

  std::shared_ptr<Arena> arena_;
  std::span<std::byte> area_;
  std::map<std::size_t, std::size_t> free_;  // offset -> size, neighbours merged
  std::vector<Quarantine> quarantines_;
  std::vector<std::span<std::byte>> held_;  // released, but quarantined
  bool closed_ = false;
  std::size_t used_ = 0;
  std::size_t kept_ = 0;  // about how much of the free memory is backed by pages
};

}  // namespace starling::transport::shm
