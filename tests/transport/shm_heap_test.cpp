#include "starling/transport/shm/heap.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "starling/core/error.h"
#include "starling/core/random.h"
#include "tests/support/check.h"

namespace starling::transport::shm {
namespace {

using testing::fill;
using testing::matches;

constexpr std::size_t kHeapBytes = std::size_t{16} << 20;

std::shared_ptr<Arena> small_arena(int ranks = 1) {
  Arena::Options options;
  options.heap_bytes = kHeapBytes;
  return Arena::create(ranks, options);
}

TEST(ShmHeapTest, PiecesDoNotOverlapAndKeepTheirContent) {
  Heap heap(small_arena(), 0);
  Random random(3);
  struct Held {
    std::span<std::byte> bytes;
    std::uint64_t seed;
  };
  std::vector<Held> held;
  for (std::uint64_t step = 0; step < 3000; ++step) {
    if (held.size() < 60 && random.chance(0.6)) {
      held.push_back({heap.allocate(random.below(20'000)), step});
      fill(held.back().bytes, step);
    } else if (!held.empty()) {
      const std::size_t victim = random.below(held.size());
      ASSERT_TRUE(matches(held[victim].bytes, held[victim].seed));
      heap.release(held[victim].bytes);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(victim));
    }
  }
  for (const Held& item : held) {
    ASSERT_TRUE(matches(item.bytes, item.seed));
    heap.release(item.bytes);
  }
  EXPECT_EQ(heap.used(), 0U);
  heap.release(heap.allocate(kHeapBytes));  // free neighbours were merged: the whole is one block again
}

// The thread sanitizer leaves a program fewer addresses than an arena of so many ranks takes.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr int kCrowd = 16;
#else
constexpr int kCrowd = kMaxRanks;
#endif
#else
constexpr int kCrowd = kMaxRanks;
#endif

// A rank whose model fills the machine is not stopped by the arena. Addresses are not memory: none is used.
TEST(ShmHeapTest, AnArenaHasAddressesForTheWholeMachine) {
  const auto memory =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::shared_ptr<Arena> arena = Arena::create(2);
  EXPECT_GE(arena->heap(0).size(), std::min(memory, std::size_t{1} << 45));
  const std::shared_ptr<Arena> crowded = Arena::create(kCrowd);
  EXPECT_GE(crowded->heap(0).size(), std::size_t{16} << 30);
  struct stat status {};
  ASSERT_EQ(fstat(arena->memory(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 64 << 20);
}

// In a process of its own, because the limit stays.
TEST(ShmHeapTest, AnArenaIsSmallerWhereAddressesAreLimited) {
  const auto make_with_limit = [] {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const std::size_t most = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (std::size_t{8} << 30);
    const struct rlimit limit { most, most };
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    const std::size_t heap = Arena::create(2)->heap(1).size();
    return heap > std::size_t{1} << 30 && heap < std::size_t{4} << 30 ? 0 : 2;
  };
  EXPECT_EXIT(_exit(make_with_limit()), ::testing::ExitedWithCode(0), "");
}

TEST(ShmHeapTest, AnExhaustedHeapSaysHowMuchWasAsked) {
  Heap heap(small_arena(), 0);
  const auto most = heap.allocate(kHeapBytes - 4096);
  try {
    heap.allocate(8192);
    FAIL() << "there is no room for 8192 bytes";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("8192"), std::string::npos) << error.what();
  }
  heap.release(most);
  heap.release(heap.allocate(8192));
}

TEST(ShmHeapTest, QuarantinedMemoryIsNotGivenOutBeforeItIsSettled) {
  Heap heap(small_arena(), 0);
  bool settled = false;
  const auto dangerous = heap.allocate(kHeapBytes / 2);
  heap.quarantine(dangerous.subspan(100, 50), [&] { return settled; });
  heap.release(dangerous);
  const auto other = heap.allocate(kHeapBytes / 2);
  EXPECT_NE(other.data(), dangerous.data());
  EXPECT_THROW(heap.allocate(kHeapBytes / 2), Error);
  settled = true;
  EXPECT_EQ(heap.allocate(kHeapBytes / 2).data(), dangerous.data());
}

// Others may not have read their last messages yet when a rank leaves.
TEST(ShmHeapTest, WhatIsReleasedAfterTheEndKeepsItsContent) {
  constexpr std::size_t kLarge = std::size_t{320} << 20;  // more than is kept for reuse
  const auto arena = Arena::create(1);
  Heap heap(arena, 0);
  const auto bytes = heap.allocate(kLarge);
  fill(bytes.first(1000), 1);
  heap.close();
  heap.release(bytes);
  EXPECT_TRUE(matches(bytes.first(1000), 1));
}

TEST(ShmArenaTest, RanksHaveSeparateMemoryAndOffsetsNameIt) {
  const auto arena = small_arena(3);
  const auto memory = arena->heap(1).subspan(4096, 10);
  const auto offset = arena->offset_of(memory);
  ASSERT_TRUE(offset);
  EXPECT_EQ(arena->at(*offset), memory.data());
  const std::byte outside[8] = {};
  EXPECT_FALSE(arena->offset_of(outside));
  EXPECT_GE(arena->heap(2).data(), arena->heap(1).data() + kHeapBytes);
}

TEST(ShmArenaTest, TheNumberOfRanksIsChecked) {
  EXPECT_THROW(Arena::create(0), InvalidArgument);
  EXPECT_THROW(Arena::create(kMaxRanks + 1), InvalidArgument);
}

TEST(ShmArenaTest, ADescriptorThatIsNoArenaIsRefused) {
  const auto arena = small_arena(1);
  std::vector<Descriptor> doorbells;
  doorbells.emplace_back(dup(arena->doorbell(0)));
  EXPECT_THROW(Arena::open(Descriptor(dup(arena->doorbell(0))), std::move(doorbells)), Error);
}

}  // namespace
}  // namespace starling::transport::shm
