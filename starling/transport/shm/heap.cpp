#include "starling/transport/shm/heap.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "starling/core/error.h"

namespace starling::transport::shm {

namespace {

// Freed memory stays with the rank up to this amount, so that repeated staging of large messages does not
// make the system clear pages each time; memory beyond it is returned.
constexpr std::size_t kKept = std::size_t{256} << 20;

std::size_t rounded(std::size_t bytes) {
  return (std::max<std::size_t>(bytes, 1) + kLine - 1) / kLine * kLine;
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
}

}  // namespace

Heap::Heap(std::shared_ptr<Arena> arena, Rank rank) : arena_(std::move(arena)), area_(arena_->heap(rank)) {
  free_[0] = area_.size();
}

std::span<std::byte> Heap::allocate(std::size_t bytes) {
  reclaim();
  const std::size_t size = rounded(bytes);
  const auto found = std::find_if(free_.begin(), free_.end(), [&](auto& gap) { return gap.second >= size; });
  if (found == free_.end()) {
    throw Error(concat("shared memory: ", bytes, " bytes asked for, ", area_.size() - used_,
                       " of this rank's ", area_.size(), " are free"));
  }
  const auto [offset, room] = *found;
  arena_->reserve(area_.subspan(offset, size));
  free_.erase(found);
  if (room > size) free_[offset + size] = room - size;
  used_ += size;
  kept_ -= std::min(kept_, size);
  return area_.subspan(offset, bytes);
}

void Heap::release(std::span<std::byte> bytes) {
  if (closed_) return;
  reclaim();
  if (quarantined(bytes)) {
    held_.push_back(bytes);
  } else {
    make_free(static_cast<std::size_t>(bytes.data() - area_.data()), rounded(bytes.size()));
  }
}

void Heap::make_free(std::size_t offset, std::size_t size) {
  used_ -= size;
  if (kept_ + size > kKept) {
    arena_->give_back(area_.subspan(offset, size));
  } else {
    kept_ += size;
  }
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + size == next->first) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  free_[offset] = size;
}

void Heap::quarantine(std::span<const std::byte> bytes, std::function<bool()> settled) {
  quarantines_.push_back({bytes, std::move(settled)});
}

bool Heap::quarantined(std::span<const std::byte> bytes) const {
  return std::any_of(quarantines_.begin(), quarantines_.end(),
                     [&](const Quarantine& q) { return overlap(q.bytes, bytes); });
}

void Heap::reclaim() {
  if (quarantines_.empty()) return;
  std::erase_if(quarantines_, [](const Quarantine& q) { return q.settled(); });
  const auto still = std::stable_partition(held_.begin(), held_.end(),
                                           [&](std::span<std::byte> bytes) { return quarantined(bytes); });
  const std::vector<std::span<std::byte>> settled(still, held_.end());
  held_.erase(still, held_.end());
  for (const auto bytes : settled) {
    make_free(static_cast<std::size_t>(bytes.data() - area_.data()), rounded(bytes.size()));
  }
}

}  // namespace starling::transport::shm
