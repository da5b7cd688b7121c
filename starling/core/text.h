// Text in and out: messages, sizes such as "64k", durations such as "1.5ms", names that were nearly right.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "starling/core/types.h"

namespace starling {

// A part of a message: a text, a character or a number, floating-point numbers with six significant digits.
// Refers to the text that it was made of.
class TextPart {
 public:
  TextPart(std::string_view text) : text_(text) {}
  TextPart(const std::string& text) : text_(text) {}
  TextPart(const char* text) : text_(text) {}
  TextPart(char letter) : text_(digits_, 1) { digits_[0] = letter; }
  TextPart(std::signed_integral auto number) : text_(write(static_cast<std::int64_t>(number))) {}
  TextPart(std::unsigned_integral auto number) : text_(write(static_cast<std::uint64_t>(number))) {}
  TextPart(std::floating_point auto number) : text_(write(static_cast<double>(number))) {}
  TextPart(const TextPart&) = delete;
  TextPart& operator=(const TextPart&) = delete;

  std::string_view text() const { return text_; }

 private:
  std::string_view write(std::int64_t number);
  std::string_view write(std::uint64_t number);
  std::string_view write(double number);

  char digits_[32];
  std::string_view text_;
};

std::string concat_parts(std::initializer_list<TextPart> parts);

// concat("rank ", 3, " lost") is "rank 3 lost".
template <class... Parts>
std::string concat(const Parts&... parts) {
  return concat_parts({TextPart(parts)...});
}

// Cuts at every `separator` and trims spaces; "a,,b" has an empty middle part, "" has no parts.
std::vector<std::string> split(std::string_view text, char separator);

// Cuts at blanks, of which there may be several between two words.
std::vector<std::string> words_of(std::string_view text);

std::string_view trim(std::string_view text);

// "2f", with zeros in front up to so many digits.
std::string format_hex(std::uint64_t number, std::size_t digits = 1);

// Bytes with an optional k, m or g (powers of 1024, either case). Throws InvalidArgument naming `what`.
std::size_t parse_size(std::string_view text, std::string_view what);

// A whole number within [lowest, highest]. Throws InvalidArgument naming `what` and the range.
long long parse_integer(std::string_view text, std::string_view what, long long lowest, long long highest);

// "1.5ms": a finite decimal number and the small letters behind it, which point into the text.
struct Quantity {
  double number = 0;
  std::string_view unit;
};

// None if the text does not have this form.
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
// word, and not all. The first of equally near names wins.
std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

// "0, 2, 5"
template <class Range>
std::string join_texts(const Range& items, std::string_view separator = ", ") {
  std::string text;
  bool first = true;
  for (const auto& item : items) {
    if (!first) text += separator;
    text += TextPart(item).text();
    first = false;
  }
  return text;
}

}  // namespace starling
