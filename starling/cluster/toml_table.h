// A text in TOML as plain tables that know the line of each key, so that every error can name it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "starling/core/types.h"

namespace starling::cluster {

// Everything here throws InvalidArgument, one line "FILE:LINE: key 'x': what is wrong; allowed: what is
// right".
class TomlTable {
 public:
  // `name` is the FILE in errors. Bytes that are not ASCII are read as '?'.
  static TomlTable parse(std::string_view text, std::string_view name);

  // Refuses the first key that is not in the list. `where` names the table.
  void allow(std::span<const std::string_view> keys, std::string_view where) const;

  bool has(std::string_view key) const { return find(key) != nullptr; }

  // The value of a key, if present; a value of another type or out of range is refused.
  std::optional<std::string> text(std::string_view key) const;
  std::optional<int> integer(std::string_view key, int lowest, int highest) const;
  std::optional<double> number(std::string_view key, double lowest, double highest) const;
  std::optional<Duration> duration(std::string_view key) const;            // "10ms", or a number of seconds
  std::optional<std::string> text_or_integer(std::string_view key) const;  // both as text
  std::span<const TomlTable> tables(std::string_view key) const;           // [[key]]

  // "FILE:LINE: key 'x'", the start of an error. The line is the table's when the key is missing.
  std::string at(std::string_view key) const;

 private:
  friend class TomlReader;

  // A value that no key may have, such as a date.
  struct Other {
    std::string_view kind;
  };
  struct Entry {
    std::string key;
    std::uint32_t line = 0;
    std::variant<Other, std::int64_t, double, std::string, std::vector<TomlTable>> value;
  };

  const Entry* find(std::string_view key) const;
  [[noreturn]] void refuse(const Entry& entry, std::string_view allowed) const;

  std::string file_;
  std::uint32_t line_ = 0;
  std::vector<Entry> entries_;  // in the order of the text
};

}  // namespace starling::cluster
