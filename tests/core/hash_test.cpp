#include "starling/core/hash.h"

#include <gtest/gtest.h>

#include <vector>

#include "starling/core/random.h"

namespace starling {
namespace {

TEST(Hash, OfAnyChangedBitDiffers) {
  Random random(1);
  for (const std::size_t size : {1U, 7U, 8U, 9U, 64U, 100U}) {
    std::vector<std::byte> bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.between(0, 255));
    const std::uint64_t before = hash_of(bytes);
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_NE(hash_of(bytes), before) << "bit " << bit << " of " << size << " bytes";
      bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    EXPECT_EQ(hash_of(bytes), before);
    bytes.push_back({});
    EXPECT_NE(hash_of(bytes), before) << "a zero more";
  }
  EXPECT_EQ(hash_of({}), hash_of({}));
}

}  // namespace
}  // namespace starling
