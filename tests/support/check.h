// Checks for code that runs as a rank. A rank may be another process, where EXPECT_* would go unseen: it
// throws, and the text of its error is its outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/core/error.h"
#include "starling/runtime/task.h"

namespace starling::testing {

inline void check(bool condition, std::string_view text) {
  if (!condition) throw Error(concat("check failed: ", text));
}

template <class A, class B>
void check_equal(const A& found, const B& expected, std::string_view what) {
  if (!(found == expected)) {
    throw Error(concat("check failed: ", what, " is ", found, " instead of ", expected));
  }
}

inline void check_contains(const std::string& text, std::string_view part) {
  check(text.find(part) != std::string::npos, concat("\"", text, "\" does not contain \"", part, "\""));
}

// Awaits what must fail with E and returns the error's text.
template <class E, class Awaitable>
runtime::Task<std::string> error_of(Awaitable& awaitable) {
  try {
    co_await awaitable;
  } catch (const E& error) {
    co_return error.what();
  }
  throw Error("check failed: it ended well instead of failing");
}

// Content that depends on its seed and position: a misplaced byte, or one of another message, shows.
inline std::byte pattern_at(std::uint64_t seed, std::size_t index) {
  const std::uint64_t mixed = (seed * 0x9e3779b97f4a7c15ULL + index) * 0xbf58476d1ce4e5b9ULL;
  return static_cast<std::byte>(mixed >> 56);
}

inline void fill(std::span<std::byte> data, std::uint64_t seed) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = pattern_at(seed, i);
}

inline std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> data(bytes);
  fill(data, seed);
  return data;
}

inline bool matches(std::span<const std::byte> data, std::uint64_t seed) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] != pattern_at(seed, i)) return false;
  }
  return true;
}

}  // namespace starling::testing
