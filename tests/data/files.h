// Files for tests, whole and damaged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace starling::data {

// FNV-1a.
inline std::uint64_t fingerprint(const std::vector<std::uint8_t>& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

// A number's 4 bytes, the highest first.
std::string big_endian(std::uint32_t number);

std::string gzip(std::string_view text);

// All of a file; a failure of the test if there is none.
std::string content_of(const std::string& path);

}  // namespace starling::data
