#include "starling/core/error.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace starling {
namespace {

// The families have distinct types and can be caught together.
template <class... Families>
constexpr bool kAreErrors = (std::is_base_of_v<Error, Families> && ...);
static_assert(kAreErrors<InvalidArgument, PeerLost, Timeout, Deadlock>);
static_assert(std::is_base_of_v<std::runtime_error, Error>);
static_assert(!std::is_base_of_v<Timeout, PeerLost> && !std::is_base_of_v<PeerLost, Timeout>);

TEST(Error, PeerLostNamesTheRank) {
  const PeerLost error(5, "connection reset");
  EXPECT_EQ(error.rank, 5);
  EXPECT_STREQ(error.what(), "rank 5 lost: connection reset");
}

TEST(Error, KeepsItsTypeAndTextWhenCaughtAsError) {
  try {
    throw PeerLost(2, "gone");
  } catch (const Error& error) {
    EXPECT_NE(dynamic_cast<const PeerLost*>(&error), nullptr);
    EXPECT_STREQ(error.what(), "rank 2 lost: gone");
  }
  EXPECT_THROW(throw Timeout("recv from 3"), Error);
  EXPECT_THROW(throw Deadlock("everyone waits"), Error);
}

}  // namespace
}  // namespace starling
