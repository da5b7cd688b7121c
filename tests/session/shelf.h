// What the ranks of a test save.
#pragma once

#include <cstring>

#include "starling/core/byte_codec.h"
#include "tests/session/jobs.h"
#include "tests/support/check.h"

namespace starling::testing {

// The data that one rank writes, in memory that all processes share.
class Shelf {
 public:
  explicit Shelf(std::size_t ranks) : board_(ranks * kFloats) {}

  void put(std::size_t rank, const Bytes& bytes) {
    auto* const place = reinterpret_cast<std::byte*>(board_.part(rank, kFloats).data());
    check(bytes.size() + sizeof(std::uint64_t) <= kFloats * sizeof(float), "there is room");
    const std::uint64_t size = bytes.size();
    std::memcpy(place, &size, sizeof size);
    std::memcpy(place + sizeof size, bytes.data(), bytes.size());
  }
  Bytes get(std::size_t rank) {
    const auto* const place = reinterpret_cast<const std::byte*>(board_.part(rank, kFloats).data());
    std::uint64_t size = 0;
    std::memcpy(&size, place, sizeof size);
    return {place + sizeof size, place + sizeof size + size};
  }

 private:
  static constexpr std::size_t kFloats = 4096;
  Board board_;
};

}  // namespace starling::testing
