#include "starling/record/json_append.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

namespace starling::record {
namespace {

template <class Number>
void append_number(std::string& text, Number number) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  text.append(digits, end);
}

// count / unit, a power of ten.
void append_decimal(std::string& text, std::int64_t count, std::int64_t unit) {
  if (count < 0) text += '-';
  append(text, std::abs(count / unit));
  std::int64_t rest = std::abs(count % unit);
  if (rest == 0) return;
  text += '.';
  while (rest != 0) {
    unit /= 10;
    text += static_cast<char>('0' + rest / unit);
    rest %= unit;
  }
}

}  // namespace

void append(std::string& text, std::int64_t number) { append_number(text, number); }
void append(std::string& text, std::uint64_t number) { append_number(text, number); }

void append(std::string& text, double number) {
  if (std::isfinite(number)) {
    append_number(text, number);
  } else {
    text += "null";
  }
}

void append_seconds(std::string& text, Duration time) { append_decimal(text, time.count(), 1'000'000'000); }
void append_microseconds(std::string& text, Duration time) { append_decimal(text, time.count(), 1'000); }

void append_quoted(std::string& text, std::string_view word) {
  text += '"';
  text += word;
  text += '"';
}

}  // namespace starling::record
