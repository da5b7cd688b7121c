// The form of everything that leaves a process, and of state in a file: values one after the other without
// gaps, least significant byte first, read back with checks. A message begins with the version of the
// program's messages.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "starling/core/error.h"

namespace starling {

using Bytes = std::vector<std::byte>;

// Changes with the layout of any message between the processes of a run.
inline constexpr std::uint8_t kWireVersion = 2;

// A value that has one form in a message. Structs have none: their fields are written one by one.
template <class T>
concept WireNumber = std::is_arithmetic_v<T> || std::is_enum_v<T>;

// Also reads, since reversing twice changes nothing.
template <WireNumber T>
std::array<std::byte, sizeof(T)> wire_bytes_of(T value) {
  auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  if constexpr (std::endian::native == std::endian::big) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

class ByteWriter {
 public:
  // Begins a message, with room for so many bytes.
  static ByteWriter message(std::size_t expected_bytes = 0) {
    ByteWriter writer;
    writer.bytes_.reserve(expected_bytes);
    writer.put(kWireVersion);
    return writer;
  }

  template <WireNumber T>
  ByteWriter& put(T value) {
    return put_raw(wire_bytes_of(value));
  }
  ByteWriter& put(Duration value) { return put<std::int64_t>(value.count()); }
  ByteWriter& put(Time value) { return put(value.time_since_epoch()); }
  ByteWriter& put_raw(std::span<const std::byte> data);
  // Writes the length first.
  ByteWriter& put_block(std::span<const std::byte> data) {
    return put<std::uint64_t>(data.size()).put_raw(data);
  }
  ByteWriter& put_text(std::string_view text) { return put_block(std::as_bytes(std::span(text))); }
  // Zeros, which a reader skips.
  ByteWriter& pad(std::size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }

  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

// The bytes must outlive the reader. Errors name `what` is being read.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string what) : rest_(bytes), what_(std::move(what)) {}

  // Behind the version of a message. Error if it is another than this program's.
  static ByteReader message(std::span<const std::byte> bytes, std::string what);

  template <class T>
  T get() {
    if constexpr (std::is_same_v<T, Time>) {
      return Time(get<Duration>());
    } else if constexpr (std::is_same_v<T, Duration>) {
      return Duration(get<std::int64_t>());
    } else if constexpr (std::is_same_v<T, bool>) {
      const int value = get<std::uint8_t>();
      if (value > 1) refuse(concat("a truth value is ", value));
      return value == 1;
    } else {
      static_assert(WireNumber<T> && !std::is_enum_v<T>, "read the fields of a struct one by one");
      T value;
      std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
      return std::bit_cast<T>(wire_bytes_of(value));
    }
  }
  // One of the values up to `last`; `name` says of what.
  template <class Enum>
  Enum get_enum(Enum last, std::string_view name) {
    using Number = std::underlying_type_t<Enum>;
    static_assert(std::is_unsigned_v<Number>);
    const auto number = get<Number>();
    if (number > static_cast<Number>(last)) refuse(concat("no ", name, " has number ", number));
    return static_cast<Enum>(number);
  }
  std::span<const std::byte> get_raw(std::uint64_t count) { return take(count); }
  std::span<const std::byte> get_block() { return take(get<std::uint64_t>()); }
  std::string get_text();
  void skip(std::size_t count) { take(count); }
  std::span<const std::byte> rest() { return take(rest_.size()); }
  std::size_t left() const { return rest_.size(); }

  [[noreturn]] void refuse(std::string_view why) const;
  void expect_end() const;

 private:
  std::span<const std::byte> take(std::uint64_t count);

  std::span<const std::byte> rest_;
  std::string what_;
};

}  // namespace starling
