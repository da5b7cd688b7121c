// A fingerprint by which ranks compare what must be the same on all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace starling {

// Takes any number of bytes; changing one bit changes the hash.
std::uint64_t hash_of(std::span<const std::byte> bytes);

}  // namespace starling
