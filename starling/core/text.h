// Text in and out: messages, sizes such as "64k", durations such as "1.5ms", names that were nearly right.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "starling/core/types.h"

namespace starling {

template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

// Cuts at every `separator` and trims spaces; "a,,b" has an empty middle part, "" has no parts.
std::vector<std::string> split(std::string_view text, char separator);

std::string_view trim(std::string_view text);

// Bytes with an optional k, m or g (powers of 1024, either case). Throws InvalidArgument naming `what`.
std::size_t parse_size(std::string_view text, std::string_view what);

// A whole number within [lowest, highest]. Throws InvalidArgument naming `what` and the range.
long long parse_integer(std::string_view text, std::string_view what, long long lowest, long long highest);

// "1.5ms": a finite decimal number and the small letters behind it, which point into the text.
struct Quantity {
  double number = 0;
  std::string_view unit;
};

// None if the text has not this form.
std::optional<Quantity> read_quantity(std::string_view text);

// A finite number within [lowest, highest]. Throws InvalidArgument naming `what` and the range.
double parse_number(std::string_view text, std::string_view what, double lowest, double highest);

// At least 0 and less than kForever: a number with ns, us, ms, s, m or h, without a unit in seconds; rounded
// to the nearest nanosecond. Throws InvalidArgument naming `what`.
Duration parse_duration(std::string_view text, std::string_view what);

// "64k", "100m": the shortest exact form that parse_size reads back.
std::string format_size(std::size_t bytes);

// "1.5 s", "230 us": three significant digits, for messages.
std::string format_duration(Duration duration);

// The name that `word` was probably meant to be, or nothing: at most 2 letters differ, or a third of the
// word, and not all. Of equally near names the first.
std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

// "0, 2, 5"
template <class Range>
std::string join(const Range& items, std::string_view separator = ", ") {
  std::ostringstream text;
  bool first = true;
  for (const auto& item : items) {
    if (!first) text << separator;
    text << item;
    first = false;
  }
  return text.str();
}

}  // namespace starling
