#include "starling/cluster/toml_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

// The only source that includes toml++: others with other settings would break the one-definition rule.
#define TOML_ENABLE_FORMATTERS 0
// Version 3.3 takes a header such as "[[[" for impossible: it aborts or, with NDEBUG, lets the compiler
// assume the opposite (its pull request 301). Without either it reports an error in the text, as it should.
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::cluster {
namespace {

// Errors stay on one line. No value may have a control character, so no allowed value is changed.
std::string one_line(std::string_view text) {
  std::string line(text);
  for (char& letter : line) {
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) letter = '?';
  }
  return line;
}

// Outside of quotes, version 3.3 reaches "unreachable" code for letters such as e with an accent.
std::string ascii(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
  std::string plain(text);
  for (char& letter : plain) {
    if (static_cast<unsigned char>(letter) > 0x7f) letter = '?';
  }
  return plain;
}

std::string_view kind_of(const toml::node& node) {
  if (node.is_boolean()) return "true or false";
  if (node.is_table()) return "a table";
  return node.is_array() ? "a list" : "a date or time";
}

}  // namespace

class TomlReader {
 public:
  static TomlTable read(const toml::table& source, const std::string& file) {
    TomlTable table;
    table.file_ = file;
    table.line_ = source.source().begin.line;
    for (const auto& [key, node] : source) {
      table.entries_.push_back({one_line(key.str()), key.source().begin.line, {}});
      auto& value = table.entries_.back().value;
      if (node.is_string()) {
        value = one_line(node.as_string()->get());
      } else if (node.is_integer()) {
        value = node.as_integer()->get();
      } else if (node.is_floating_point()) {
        value = node.as_floating_point()->get();
      } else if (node.is_array_of_tables()) {
        value = read_all(*node.as_array(), file);
      } else {
        value = TomlTable::Other{kind_of(node)};
      }
    }
    std::stable_sort(table.entries_.begin(), table.entries_.end(),
                     [](const auto& a, const auto& b) { return a.line < b.line; });
    return table;
  }

 private:
  static std::vector<TomlTable> read_all(const toml::array& list, const std::string& file) {
    std::vector<TomlTable> tables;
    for (const toml::node& node : list) tables.push_back(read(*node.as_table(), file));
    return tables;
  }
};

TomlTable TomlTable::parse(std::string_view text, std::string_view name) {
  const std::string file = one_line(name);
  try {
    return TomlReader::read(toml::parse(ascii(text)), file);
  } catch (const toml::parse_error& error) {
    throw InvalidArgument(
        concat(file, ":", error.source().begin.line, ": not TOML: ", one_line(error.description())));
  }
}

void TomlTable::allow(std::span<const std::string_view> keys, std::string_view where) const {
  for (const Entry& entry : entries_) {
    if (std::find(keys.begin(), keys.end(), entry.key) != keys.end()) continue;
    const std::string_view near = nearest(entry.key, keys);
    const std::string hint = near.empty() ? "" : concat(" (did you mean '", near, "'?)");
    throw InvalidArgument(
        concat(at(entry.key), ": there is no such key ", where, hint, "; allowed: ", join_texts(keys)));
  }
}

std::optional<std::string> TomlTable::text(std::string_view key) const {
  const Entry* entry = find(key);
  if (entry == nullptr) return {};
  if (const auto* value = std::get_if<std::string>(&entry->value)) return *value;
  refuse(*entry, "a text in quotes");
}

std::optional<int> TomlTable::integer(std::string_view key, int lowest, int highest) const {
  const Entry* entry = find(key);
  if (entry == nullptr) return {};
  const auto* value = std::get_if<std::int64_t>(&entry->value);
  if (value != nullptr && *value >= lowest && *value <= highest) return static_cast<int>(*value);
  refuse(*entry, concat("a whole number from ", lowest, " to ", highest));
}

std::optional<double> TomlTable::number(std::string_view key, double lowest, double highest) const {
  const Entry* entry = find(key);
  if (entry == nullptr) return {};
  std::optional<double> value;
  if (const auto* whole = std::get_if<std::int64_t>(&entry->value)) value = static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&entry->value)) value = *real;
  if (value && *value >= lowest && *value <= highest) return value;
  refuse(*entry, concat("a number from ", lowest, " to ", highest));
}

std::optional<Duration> TomlTable::duration(std::string_view key) const {
  const Entry* entry = find(key);
  if (entry == nullptr) return {};
  if (const auto* text = std::get_if<std::string>(&entry->value)) return parse_duration(*text, at(key));
  double seconds = -1;
  if (const auto* whole = std::get_if<std::int64_t>(&entry->value)) seconds = static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&entry->value)) seconds = *real;
  const double nanoseconds = std::round(seconds * 1e9);
  if (nanoseconds >= 0 && nanoseconds < static_cast<double>(kForever.count())) {
    return Duration(static_cast<Duration::rep>(nanoseconds));
  }
  refuse(*entry, "a duration such as '10ms', or a number of seconds");
}

std::optional<std::string> TomlTable::text_or_integer(std::string_view key) const {
  const Entry* entry = find(key);
  if (entry == nullptr) return {};
  if (const auto* whole = std::get_if<std::int64_t>(&entry->value)) return std::to_string(*whole);
  if (const auto* text = std::get_if<std::string>(&entry->value)) return *text;
  refuse(*entry, "a whole number or a text in quotes");
}

std::span<const TomlTable> TomlTable::tables(std::string_view key) const {
  const Entry* entry = find(key);
  if (entry == nullptr) return {};
  if (const auto* list = std::get_if<std::vector<TomlTable>>(&entry->value)) return *list;
  refuse(*entry, concat("tables that start with [[", key, "]]"));
}

std::string TomlTable::at(std::string_view key) const {
  const Entry* entry = find(key);
  return concat(file_, ":", entry == nullptr ? line_ : entry->line, ": key '", key, "'");
}

const TomlTable::Entry* TomlTable::find(std::string_view key) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
  return found == entries_.end() ? nullptr : &*found;
}

void TomlTable::refuse(const Entry& entry, std::string_view allowed) const {
  std::string found;
  if (const auto* text = std::get_if<std::string>(&entry.value)) {
    found = concat("'", *text, "' is a text");
  } else if (const auto* whole = std::get_if<std::int64_t>(&entry.value)) {
    found = concat("bad value ", *whole);
  } else if (const auto* real = std::get_if<double>(&entry.value)) {
    found = concat("bad value ", *real);
  } else if (const auto* other = std::get_if<Other>(&entry.value)) {
    found = concat("bad value: ", other->kind);
  } else {
    found = "bad value: tables";
  }
  throw InvalidArgument(concat(at(entry.key), ": ", found, "; allowed: ", allowed));
}

}  // namespace starling::cluster
