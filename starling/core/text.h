// Text in and out: messages, sizes such as "64k", durations for people.
#pragma once

#include <cstddef>
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

// "64k", "100m": the shortest exact form that parse_size reads back.
std::string format_size(std::size_t bytes);

// "1.5 s", "230 us": three significant digits, for messages.
std::string format_duration(Duration duration);

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
