// Numbers as JSON text, appended without streams: a trace has millions of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "starling/core/types.h"

namespace starling::record {

void append(std::string& text, std::int64_t number);
void append(std::string& text, std::uint64_t number);
inline void append(std::string& text, int number) { append(text, std::int64_t{number}); }

// The shortest form that reads back as the same number; null for values that JSON cannot represent.
void append(std::string& text, double number);

// Exact to the nanosecond.
void append_seconds(std::string& text, Duration time);
void append_microseconds(std::string& text, Duration time);

// In quotation marks. For our own words: nothing is escaped.
void append_quoted(std::string& text, std::string_view word);

}  // namespace starling::record
