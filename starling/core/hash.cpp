#include "starling/core/hash.h"

#include <algorithm>
#include <cstring>

namespace starling {

// Multiply and fold, eight bytes at a time; the rest is filled up with zeros, which the length tells apart.
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
  std::uint64_t hash = bytes.size() * kOdd;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof hash) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    hash = (hash ^ word) * kOdd;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace starling
