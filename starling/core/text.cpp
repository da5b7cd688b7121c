#include "starling/core/text.h"

#include <charconv>
#include <cstdint>
#include <limits>

#include "starling/core/error.h"

namespace starling {
namespace {

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

constexpr DurationUnit kDurationUnits[] = {{"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}};

std::uint64_t to_three_digits(std::uint64_t value) {
  std::uint64_t unit = 1;
  while (value / unit >= 1000) unit *= 10;
  return (value + unit / 2) / unit * unit;
}

}  // namespace

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
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

}  // namespace starling
