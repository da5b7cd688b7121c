#include "starling/transport/shm/arena_common_memory.h"

#include <utility>

#include "starling/core/error.h"

namespace starling::transport::shm {

namespace {

class ConditionWatch final : public Watch {
 public:
  ConditionWatch(SharedMemory& memory, std::function<bool()> condition)
      : Watch(memory, Time(kForever)), condition_(std::move(condition)) {}

  bool ready() override { return condition_(); }
  std::string describe() const override { return "a change of the memory that the ranks of the host share"; }

 private:
  std::function<bool()> condition_;
};

// Is counted while it lives. A rank that dies meanwhile is counted for ever, which costs others a look at who
// is parked.
class Waiter {
 public:
  explicit Waiter(Header& header) : header_(header) { header_.common_waiters.fetch_add(1); }
  ~Waiter() { header_.common_waiters.fetch_sub(1); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

 private:
  Header& header_;
};

}  // namespace

std::byte* ArenaCommonMemory::find() const {
  const std::uint64_t offset = arena_->header().common_offset.load();
  return offset == 0 ? nullptr : arena_->at(offset);
}

void ArenaCommonMemory::put(const Memory& block) {
  const auto offset = arena_->offset_of(block.bytes);
  if (!offset) throw Error("a block of common memory must be from the arena");
  std::uint64_t none = 0;
  if (!arena_->header().common_offset.compare_exchange_strong(none, *offset)) {
    throw Error("this run has a block of common memory already");
  }
  put_ = block;
  tell_others();
}

// The waiter is counted before it evaluates the condition, and who changes the block looks at the count
// afterwards: one of the two sees the other.
runtime::Task<> ArenaCommonMemory::wait_until(std::function<bool()> condition) {
  const Waiter waiter(arena_->header());
  ConditionWatch watch(watches_, std::move(condition));
  co_await watch;
}

void ArenaCommonMemory::tell_others() {
  if (arena_->header().common_waiters.load() == 0) return;
  for (const Rank rank : arena_->members()) arena_->ring(rank);
}

}  // namespace starling::transport::shm
