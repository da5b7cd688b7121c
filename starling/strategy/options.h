// The options of a strategy: declared once, in its registry entry, with type, default, range and help. The
// command line, the documentation and the tests read the declarations; the strategy reads the values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace starling::strategy {

struct OptionSpec {
  enum class Kind { kInteger, kNumber, kFlag, kChoice, kSize, kText };

  std::string name;  // as people write it, in flags and in STARLING_OPTIONS: "group-size"
  Kind kind = Kind::kText;
  std::string fallback;  // the default, as text
  std::string help;
  double lowest = 0;  // of numbers, both included
  double highest = 0;
  std::vector<std::string> choices;  // of a choice; of others, the words allowed instead
  // "mode=ssp", "mode=ssp|bsp": refused where that option has another value; empty: always allowed.
  std::string only_with;
  std::string recorded_name = {};  // in run.json, where it is not `name` with underscores

  static OptionSpec integer(std::string name, std::int64_t fallback, std::int64_t lowest,
                            std::int64_t highest, std::string help);
  static OptionSpec number(std::string name, std::string fallback, double lowest, double highest,
                           std::string help);
  // A number or one of the words; the first word is the default.
  static OptionSpec number_or(std::string name, std::vector<std::string> words, double lowest, double highest,
                              std::string help);
  static OptionSpec flag(std::string name, std::string help);  // off by default
  static OptionSpec choice(std::string name, std::vector<std::string> choices,
                           std::string help);  // the first
  // A size or one of the words; the first word is the default.
  static OptionSpec size_or(std::string name, std::vector<std::string> words, std::string help);
  // A size, with a default.
  static OptionSpec size_of(std::string name, std::string fallback, std::string help);
  static OptionSpec text(std::string name, std::string fallback, std::string help);
  // Of an integer: this word is allowed, too.
  OptionSpec or_word(std::string word) &&;
  OptionSpec with(std::string condition) &&;
  OptionSpec recorded_as(std::string key) &&;

  // Its name in run.json: "group_size". Flags once had these names; they are refused with the present one.
  std::string key() const;

  // "1 to 1000000", "bsp, asp, ssp"
  std::string allowed() const;
  // `only_with` in readable form: "mode=ssp", "mode=ssp or bsp"
  std::string condition() const;
};

using OptionTexts = std::map<std::string, std::string>;

// Values for all options of one strategy, checked.
class Options {
 public:
  // InvalidArgument for a name that `specs` do not contain, for a value out of range, and for an option whose
  // condition does not hold. `owner` is the strategy's name, for the messages.
  static Options parse(const std::vector<OptionSpec>& specs, std::string_view owner,
                       const OptionTexts& given);

  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  std::optional<double> number_unless_word(std::string_view name) const;
  bool flag(std::string_view name) const;
  std::optional<std::size_t> size(std::string_view name) const;  // bytes; none if it is a word
  const std::string& text(std::string_view name) const;          // also for a choice

  // Every option with its value, defaults included.
  const std::map<std::string, std::string, std::less<>>& values() const { return values_; }
  // The same under the options' keys, for run.json.
  const std::map<std::string, std::string>& recorded() const { return recorded_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::map<std::string, std::string> recorded_;
};

// The option of that name; null if there is none. InvalidArgument, "--group_size: spelt --group-size" with
// the prefix "--", if the name is what an option is called in run.json.
const OptionSpec* find_option(const std::vector<OptionSpec>& specs, std::string_view name,
                              std::string_view prefix);

}  // namespace starling::strategy
