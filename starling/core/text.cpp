#include "starling/core/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "starling/core/error.h"

namespace starling {
namespace {

constexpr std::string_view kBlank = " \t\r\n\v\f";

struct SizeUnit {
  char letter;
  std::size_t bytes;
};

// Largest first: format_size takes the first that divides.
constexpr SizeUnit kSizeUnits[] = {
    {'g', std::size_t{1} << 30}, {'m', std::size_t{1} << 20}, {'k', std::size_t{1} << 10}};

// The factor of a trailing k, m or g, which is cut off; 1 if there is none.
std::size_t take_size_unit(std::string_view& text) {
  for (const SizeUnit& unit : kSizeUnits) {
    if (text.empty() || (text.back() | 0x20) != unit.letter) continue;
    text.remove_suffix(1);
    return unit.bytes;
  }
  return 1;
}

struct DurationUnit {
  std::string_view name;
  std::uint64_t nanoseconds;
};

// The first four are written, largest first; the others are only read.
constexpr DurationUnit kDurationUnits[] = {
    {"s", 1'000'000'000}, {"ms", 1'000'000},     {"us", 1'000},           {"ns", 1},
    {"", 1'000'000'000},  {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};

// 0 if there is no such unit.
std::uint64_t nanoseconds_of(std::string_view unit) {
  for (const DurationUnit& known : kDurationUnits) {
    if (known.name == unit) return known.nanoseconds;
  }
  return 0;
}

std::uint64_t to_three_digits(std::uint64_t value) {
  std::uint64_t unit = 1;
  while (value / unit >= 1000) unit *= 10;
  return (value + unit / 2) / unit * unit;
}

// Levenshtein's distance: letters inserted, left out or replaced. Keeps one row of the table at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char letter : a) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (letter == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

template <class... How>
std::string_view write_number(std::span<char> digits, How... how) {
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), how...);
  return {digits.data(), static_cast<std::size_t>(end - digits.data())};
}

}  // namespace

std::string_view TextPart::write(std::int64_t number) { return write_number(digits_, number); }
std::string_view TextPart::write(std::uint64_t number) { return write_number(digits_, number); }
std::string_view TextPart::write(double number) {
  return write_number(digits_, number, std::chars_format::general, 6);
}

std::string concat_parts(std::initializer_list<TextPart> parts) {
  std::size_t size = 0;
  for (const TextPart& part : parts) size += part.text().size();
  std::string text;
  text.reserve(size);
  for (const TextPart& part : parts) text += part.text();
  return text;
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; (begin = text.find_first_not_of(kBlank, begin)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlank, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

std::string format_hex(std::uint64_t number, std::size_t digits) {
  char text[16];
  const auto written = std::to_chars(std::begin(text), std::end(text), number, 16);
  const std::string hex(text, written.ptr);
  return std::string(digits > hex.size() ? digits - hex.size() : 0, '0') + hex;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  std::size_t begin = 0;
  for (std::size_t end = 0; end != std::string_view::npos; begin = end + 1) {
    end = text.find(separator, begin);
    parts.emplace_back(trim(text.substr(begin, end - begin)));
  }
  return parts;
}

std::size_t parse_size(std::string_view text, std::string_view what) {
  std::string_view digits = text;
  const std::size_t unit = take_size_unit(digits);
  std::size_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (stop != end || error == std::errc::invalid_argument) {
    throw InvalidArgument(
        concat(what, ": '", text, "' is not a size (a whole number with an optional k, m or g)"));
  }
  if (error != std::errc{} || number > std::numeric_limits<std::size_t>::max() / unit) {
    throw InvalidArgument(concat(what, ": '", text, "' is too large for a size"));
  }
  return number * unit;
}

long long parse_integer(std::string_view text, std::string_view what, long long lowest, long long highest) {
  long long number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (stop != end || error != std::errc{} || number < lowest || number > highest) {
    throw InvalidArgument(
        concat(what, ": '", text, "' is not a whole number from ", lowest, " to ", highest));
  }
  return number;
}

std::optional<Quantity> read_quantity(std::string_view text) {
  const std::size_t digits = text.find_last_not_of("abcdefghijklmnopqrstuvwxyz") + 1;
  Quantity quantity{0, text.substr(digits)};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + digits, quantity.number);
  if (stop != text.data() + digits || error != std::errc{} || !std::isfinite(quantity.number)) return {};
  return quantity;
}

double parse_number(std::string_view text, std::string_view what, double lowest, double highest) {
  const std::optional<Quantity> read = read_quantity(text);
  if (!read || !read->unit.empty() || read->number < lowest || read->number > highest) {
    throw InvalidArgument(concat(what, ": '", text, "' is not a number from ", lowest, " to ", highest));
  }
  return read->number;
}

Duration parse_duration(std::string_view text, std::string_view what) {
  const std::optional<Quantity> read = read_quantity(text);
  const std::uint64_t unit = read ? nanoseconds_of(read->unit) : 0;
  if (unit == 0 || read->number < 0) {
    throw InvalidArgument(concat(what, ": '", text,
                                 "' is not a duration (a number from 0 with ns, us, ms, s, m or h; "
                                 "without a unit: seconds)"));
  }
  const double nanoseconds = std::round(read->number * static_cast<double>(unit));
  if (nanoseconds >= static_cast<double>(kForever.count())) {
    throw InvalidArgument(concat(what, ": '", text, "' is too long for a duration (73 years)"));
  }
  return Duration(static_cast<Duration::rep>(nanoseconds));
}

std::string format_size(std::size_t bytes) {
  for (const SizeUnit& unit : kSizeUnits) {
    if (bytes != 0 && bytes % unit.bytes == 0) return concat(bytes / unit.bytes, unit.letter);
  }
  return std::to_string(bytes);
}

std::string format_duration(Duration duration) {
  if (duration >= kForever) return "forever";
  const bool negative = duration.count() < 0;
  const auto count = static_cast<std::uint64_t>(duration.count());
  const std::uint64_t rounded = to_three_digits(negative ? 0 - count : count);
  if (rounded == 0) return "0 s";

  const DurationUnit* unit = kDurationUnits;
  while (rounded < unit->nanoseconds) ++unit;
  std::string number = std::to_string(rounded / unit->nanoseconds);
  if (const std::uint64_t rest = rounded % unit->nanoseconds; rest != 0) {
    const std::string digits = std::to_string(unit->nanoseconds + rest).substr(1);  // with leading zeros
    number += "." + digits.substr(0, digits.find_last_not_of('0') + 1);
  }
  return concat(negative ? "-" : "", number, " ", unit->name);
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
  std::string_view best;
  std::size_t limit = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view name : names) {
    const std::size_t distance = edit_distance(word, name);
    if (distance >= limit || distance >= std::max(word.size(), name.size())) continue;
    best = name;
    limit = distance;
  }
  return best;
}

}  // namespace starling
