#include "starling/strategy/options.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "starling/core/error.h"

namespace starling::strategy {

namespace {

using Kind = OptionSpec::Kind;

// "1000000", "0.5": without the exponent that a stream would choose for a large whole number.
std::string plain(double value) {
  char text[64];
  const auto end = std::abs(value) < 1e15 && value == std::floor(value)
                       ? std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(value)).ptr
                       : std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

template <class Number>
bool reads_as(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool in_range(const OptionSpec& spec, double value) { return value >= spec.lowest && value <= spec.highest; }

bool is_size(std::string_view text) {
  try {
    return parse_size(text, "") >= 1;
  } catch (const InvalidArgument&) {
    return false;
  }
}

bool is_choice(const OptionSpec& spec, const std::string& text) {
  return std::find(spec.choices.begin(), spec.choices.end(), text) != spec.choices.end();
}

bool acceptable(const OptionSpec& spec, const std::string& text) {
  std::int64_t whole = 0;
  double number = 0;
  switch (spec.kind) {
    case Kind::kInteger:
      return is_choice(spec, text) || (reads_as(text, whole) && in_range(spec, static_cast<double>(whole)));
    case Kind::kNumber:
      return is_choice(spec, text) ||
             (reads_as(text, number) && std::isfinite(number) && in_range(spec, number));
    case Kind::kFlag:
      return text == "0" || text == "1";
    case Kind::kChoice:
      return is_choice(spec, text);
    case Kind::kSize:
      return is_size(text) || is_choice(spec, text);
    case Kind::kText:
      return !text.empty();
  }
  return false;
}

// Whether `text` is among "a|b|c".
bool is_one_of(std::string_view text, std::string_view values) {
  while (!values.empty()) {
    const std::size_t cut = std::min(values.find('|'), values.size());
    if (values.substr(0, cut) == text) return true;
    values.remove_prefix(std::min(cut + 1, values.size()));
  }
  return false;
}

const OptionSpec& find(const std::vector<OptionSpec>& specs, std::string_view owner,
                       const std::string& name) {
  if (const OptionSpec* const spec = find_option(specs, name, concat("strategy ", owner, ", option ")))
    return *spec;
  std::vector<std::string_view> names;
  names.reserve(specs.size());
  for (const OptionSpec& spec : specs) names.push_back(spec.name);
  const std::string_view meant = nearest(name, names);
  throw InvalidArgument(concat("strategy ", owner, " has no option '", name, "'",
                               meant.empty() ? "" : concat(", did you mean '", meant, "'?"), "; it has ",
                               names.empty() ? "none" : join_texts(names)));
}

}  // namespace

OptionSpec OptionSpec::integer(std::string name, std::int64_t fallback, std::int64_t lowest,
                               std::int64_t highest, std::string help) {
  return {std::move(name),
          Kind::kInteger,
          std::to_string(fallback),
          std::move(help),
          static_cast<double>(lowest),
          static_cast<double>(highest),
          {},
          {},
          {}};
}

OptionSpec OptionSpec::number(std::string name, std::string fallback, double lowest, double highest,
                              std::string help) {
  return {std::move(name), Kind::kNumber, std::move(fallback), std::move(help), lowest, highest, {}, {}, {}};
}

OptionSpec OptionSpec::number_or(std::string name, std::vector<std::string> words, double lowest,
                                 double highest, std::string help) {
  OptionSpec spec = number(std::move(name), words.front(), lowest, highest, std::move(help));
  spec.choices = std::move(words);
  return spec;
}

OptionSpec OptionSpec::flag(std::string name, std::string help) {
  return {std::move(name), Kind::kFlag, "0", std::move(help), 0, 1, {}, {}, {}};
}

OptionSpec OptionSpec::choice(std::string name, std::vector<std::string> choices, std::string help) {
  std::string first = choices.front();
  return {
      std::move(name), Kind::kChoice, std::move(first), std::move(help), 0, 0, std::move(choices), {}, {}};
}

OptionSpec OptionSpec::size_or(std::string name, std::vector<std::string> words, std::string help) {
  std::string first = words.front();
  return {std::move(name), Kind::kSize, std::move(first), std::move(help), 0, 0, std::move(words), {}, {}};
}

OptionSpec OptionSpec::size_of(std::string name, std::string fallback, std::string help) {
  return {std::move(name), Kind::kSize, std::move(fallback), std::move(help), 0, 0, {}, {}, {}};
}

OptionSpec OptionSpec::text(std::string name, std::string fallback, std::string help) {
  return {std::move(name), Kind::kText, std::move(fallback), std::move(help), 0, 0, {}, {}, {}};
}

OptionSpec OptionSpec::with(std::string condition) && {
  only_with = std::move(condition);
  return std::move(*this);
}

OptionSpec OptionSpec::or_word(std::string word) && {
  choices.push_back(std::move(word));
  return std::move(*this);
}

OptionSpec OptionSpec::recorded_as(std::string key) && {
  recorded_name = std::move(key);
  return std::move(*this);
}

std::string OptionSpec::key() const {
  if (!recorded_name.empty()) return recorded_name;
  std::string text = name;
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

std::string OptionSpec::allowed() const {
  switch (kind) {
    case Kind::kInteger:
      return concat(join_texts(choices), choices.empty() ? "" : ", or ", "a whole number from ",
                    plain(lowest), " to ", plain(highest));
    case Kind::kNumber:
      return concat(join_texts(choices), choices.empty() ? "" : ", or ", "a number from ", plain(lowest),
                    " to ", plain(highest));
    case Kind::kFlag:
      return "0, 1";
    case Kind::kChoice:
      return join_texts(choices);
    case Kind::kSize:
      return concat(join_texts(choices), choices.empty() ? "" : ", or ",
                    "bytes from 1 on with an optional k, m or g");
    case Kind::kText:
      return "text";
  }
  return "";
}

std::string OptionSpec::condition() const {
  std::string text = only_with;
  const std::size_t last = text.rfind('|');
  if (last != std::string::npos) text.replace(last, 1, " or ");
  for (std::size_t bar = text.find('|'); bar != std::string::npos; bar = text.find('|')) {
    text.replace(bar, 1, ", ");
  }
  return text;
}

Options Options::parse(const std::vector<OptionSpec>& specs, std::string_view owner,
                       const OptionTexts& given) {
  Options options;
  for (const OptionSpec& spec : specs) options.values_[spec.name] = spec.fallback;
  for (const auto& [name, text] : given) {
    const OptionSpec& spec = find(specs, owner, name);
    if (!acceptable(spec, text)) {
      throw InvalidArgument(
          concat("strategy ", owner, ", option ", name, ": '", text, "'; allowed: ", spec.allowed()));
    }
    options.values_[name] = text;
  }
  for (const auto& [name, text] : given) {
    const OptionSpec& spec = find(specs, owner, name);
    const std::string& condition = spec.only_with;
    if (condition.empty()) continue;
    const std::size_t cut = condition.find('=');
    const std::string other = condition.substr(0, cut);
    if (is_one_of(options.values_.at(other), condition.substr(cut + 1))) continue;
    throw InvalidArgument(concat("strategy ", owner, ", option ", name, ": it belongs to ", spec.condition(),
                                 ", and ", other, " is ", options.values_.at(other)));
  }
  for (const OptionSpec& spec : specs) options.recorded_[spec.key()] = options.values_.at(spec.name);
  return options;
}

std::int64_t Options::integer(std::string_view name) const {
  std::int64_t value = 0;
  reads_as(text(name), value);
  return value;
}

double Options::number(std::string_view name) const {
  double value = 0;
  reads_as(text(name), value);
  return value;
}

std::optional<double> Options::number_unless_word(std::string_view name) const {
  double value = 0;
  if (!reads_as(text(name), value)) return {};
  return value;
}

bool Options::flag(std::string_view name) const { return text(name) == "1"; }

std::optional<std::size_t> Options::size(std::string_view name) const {
  const std::string& value = text(name);
  if (!is_size(value)) return {};
  return parse_size(value, name);
}

const std::string& Options::text(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) throw Error(concat("option '", name, "' was not declared"));
  return found->second;
}

const OptionSpec* find_option(const std::vector<OptionSpec>& specs, std::string_view name,
                              std::string_view prefix) {
  for (const OptionSpec& spec : specs) {
    if (spec.name == name) return &spec;
  }
  for (const OptionSpec& spec : specs) {
    if (spec.key() != name) continue;
    const std::string_view dashes = prefix == "--" ? prefix : "";
    throw InvalidArgument(concat(prefix, name, ": spelt ", dashes, spec.name));
  }
  return nullptr;
}

}  // namespace starling::strategy
