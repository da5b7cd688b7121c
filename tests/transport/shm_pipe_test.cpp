#include "starling/transport/shm/pipe.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "starling/core/random.h"
#include "tests/support/check.h"

namespace starling::transport::shm {
namespace {

using testing::matches;
using testing::pattern;

// Sixty-four kilobytes of zeroes, as in a fresh arena.
std::unique_ptr<Pipe> new_pipe() { return std::make_unique<Pipe>(); }

Record inline_record(std::uint64_t tag, std::size_t bytes) {
  return {Record::kInline, 0, tag, bytes, 0, 0, 0};
}

TEST(ShmPipeTest, EmptyPipeHasNoFront) {
  const auto pipe = new_pipe();
  EXPECT_FALSE(front_record(*pipe));
}

TEST(ShmPipeTest, AFullPipeRefusesAndKeepsWhatItHolds) {
  const auto pipe = new_pipe();
  std::uint64_t written = 0;
  while (write_record(*pipe, inline_record(written, kInlineLimit), pattern(kInlineLimit, written))) ++written;
  EXPECT_GE(written, 4U);
  EXPECT_FALSE(has_room(*pipe, kInlineLimit));
  for (std::uint64_t i = 0; i < written; ++i) {
    const auto front = front_record(*pipe);
    ASSERT_TRUE(front);
    EXPECT_EQ(front->record.tag, i);
    EXPECT_TRUE(matches(front->payload, i));
    pop_record(*pipe, *front);
  }
  EXPECT_FALSE(front_record(*pipe));
  EXPECT_TRUE(has_room(*pipe, kInlineLimit));
}

TEST(ShmPipeTest, RandomTrafficComesOutAsItWentIn) {
  const auto pipe = new_pipe();
  Random random(1);
  std::deque<std::pair<std::uint64_t, std::size_t>> expected;
  std::uint64_t next = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (random.chance(0.5)) {
      const std::size_t bytes = random.chance(0.2) ? random.below(kInlineLimit + 1) : random.below(100);
      const bool room = has_room(*pipe, bytes);
      const bool wrote = write_record(*pipe, inline_record(next, bytes), pattern(bytes, next));
      ASSERT_EQ(room, wrote);
      if (wrote) expected.emplace_back(next++, bytes);
    } else {
      const auto front = front_record(*pipe);
      ASSERT_EQ(front.has_value(), !expected.empty());
      if (!front) continue;
      ASSERT_EQ(front->record.tag, expected.front().first);
      ASSERT_EQ(front->payload.size(), expected.front().second);
      ASSERT_TRUE(matches(front->payload, front->record.tag));
      pop_record(*pipe, *front);
      expected.pop_front();
    }
  }
  EXPECT_GT(next, 5000U);
}

}  // namespace
}  // namespace starling::transport::shm
