// State by name: packed state comes back, and nothing else is accepted for it.
#include "starling/session/worker/checkpoint_state.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/check.h"

namespace starling::session {
namespace {

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(CheckpointState, GivesBackWhatWasKept) {
  std::uint64_t count = 7;
  std::array<float, 3> numbers{1, 2, 3};
  CheckpointState first;
  first.keep("count", std::as_writable_bytes(std::span(&count, 1)));
  first.keep("numbers", std::as_writable_bytes(std::span(numbers)));
  count = 8;
  const Bytes packed = first.pack();
  count = 0;
  numbers = {};
  CheckpointState second(packed);
  second.keep("numbers", std::as_writable_bytes(std::span(numbers)));
  second.keep("count", std::as_writable_bytes(std::span(&count, 1)));
  EXPECT_EQ(count, 8U);
  EXPECT_EQ(numbers[2], 3);
}

TEST(CheckpointState, RefusesToGoOnWithoutAState) {
  std::uint64_t count = 7, other = 5;
  CheckpointState kept;
  kept.keep("count", std::as_writable_bytes(std::span(&count, 1)));
  CheckpointState next(kept.pack());
  try {
    next.keep("other", std::as_writable_bytes(std::span(&other, 1)));
    FAIL();
  } catch (const Error& error) {
    testing::check_contains(error.what(), "the checkpoint has no state \"other\"");
  }
}

TEST(CheckpointState, RefusesOtherSizesAndGarbage) {
  std::uint64_t count = 7;
  CheckpointState kept;
  kept.keep("count", std::as_writable_bytes(std::span(&count, 1)));
  const Bytes packed = kept.pack();
  std::uint32_t small = 0;
  CheckpointState other(packed);
  try {
    other.keep("count", std::as_writable_bytes(std::span(&small, 1)));
    FAIL();
  } catch (const Error& error) {
    testing::check_contains(error.what(), "\"count\"");
  }
  for (std::size_t length = 1; length < packed.size(); ++length) {
    EXPECT_THROW(CheckpointState(std::span(packed).first(length)), Error) << length;
  }
  EXPECT_THROW(CheckpointState(bytes_of("what is this and why is it so long")), Error);
}

}  // namespace
}  // namespace starling::session
