// Values in a message or a file: written one after the other as they lie in memory, read back with checks.
#pragma once

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

class ByteWriter {
 public:
  template <class T>
  ByteWriter& put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    return put_raw(std::as_bytes(std::span(&value, 1)));
  }
  ByteWriter& put_raw(std::span<const std::byte> data) {
    bytes_.insert(bytes_.end(), data.begin(), data.end());
    return *this;
  }
  // With its length before it.
  ByteWriter& put_block(std::span<const std::byte> data) {
    return put<std::uint64_t>(data.size()).put_raw(data);
  }
  ByteWriter& put_text(std::string_view text) { return put_block(std::as_bytes(std::span(text))); }

  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

// The bytes must outlive it. Errors name `what` is read.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string_view what) : rest_(bytes), what_(what) {}

  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  std::span<const std::byte> get_block() { return take(get<std::uint64_t>()); }
  std::string get_text() {
    const auto text = get_block();
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  std::span<const std::byte> rest() { return take(rest_.size()); }
  std::size_t left() const { return rest_.size(); }

  [[noreturn]] void refuse(std::string_view why) const { throw Error(concat(what_, ": ", why)); }
  void expect_end() const {
    if (!rest_.empty()) refuse(concat(rest_.size(), " bytes too many"));
  }

 private:
  std::span<const std::byte> take(std::uint64_t count) {
    if (count > rest_.size()) refuse(concat(count, " bytes wanted, ", rest_.size(), " left"));
    const auto taken = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }

  std::span<const std::byte> rest_;
  std::string_view what_;
};

}  // namespace starling
