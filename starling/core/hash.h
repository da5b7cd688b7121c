// A fingerprint by which ranks compare what must be the same on all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace starling {

// Of any number of bytes; a changed bit changes it.
std::uint64_t hash_of(std::span<const std::byte> bytes);

}  // namespace starling
