// A flag as a value: how the word behind it is read, checked and shown in the help, by CLI11's own means.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "starling/core/types.h"
#include "starling/transport/link.h"

namespace starling::cli {

// The value of a flag, if it was given, and the word that it was read from, for messages.
template <class Value>
class Given {
 public:
  Given() = default;
  Given(Value value, std::string text) : value_(std::move(value)), text_(std::move(text)) {}

  explicit operator bool() const { return value_.has_value(); }
  const Value& operator*() const { return *value_; }
  Value value_or(Value other) const { return value_.value_or(std::move(other)); }
  const std::optional<Value>& optional() const { return value_; }
  const std::string& text() const { return text_; }

 private:
  std::optional<Value> value_;
  std::string text_;
};

// The values that the word behind a flag may have. `read` throws InvalidArgument, a line that starts with the
// flag.
template <class Value>
struct Grammar {
  std::string type;  // in the help: "N", "TIME"
  std::function<Value(const std::string& text, std::string_view flag)> read;
};

// Its range is checked by the command, which knows it: `in_range`.
Grammar<long long> whole_number();
Grammar<std::uint64_t> whole_number(long long lowest, long long highest);
Grammar<double> number(double lowest, double highest);
Grammar<Duration> positive_time();
Grammar<Duration> time();
Grammar<transport::Link> link_speed();
Grammar<std::string> any_text();
// `read` of the others: what the library's parser says.
Grammar<std::string> text_like(std::string type,
                               std::function<void(const std::string&, std::string_view)> check);

template <class Value>
struct Flag {
  std::string name;  // "--steps", "-n,--workers"
  std::string help;
  Grammar<Value> grammar;

  // "--workers"
  std::string_view long_name() const { return std::string_view(name).substr(name.rfind("--")); }
};

// A flag without a value.
struct Switch {
  std::string name;
  std::string help;
};

// The reader's complaint without the flag, which CLI11 puts in front. Empty: the word is fine.
std::string complaint_of(const std::function<void()>& read, std::string_view flag);

template <class Value>
CLI::Validator validator_of(const Flag<Value>& flag) {
  return CLI::Validator(
      [flag](std::string& text) {
        return complaint_of([&] { flag.grammar.read(text, flag.long_name()); }, flag.long_name());
      },
      "");
}

// The value is checked when CLI11 validates the words, and stored when it runs the callbacks.
template <class Value>
CLI::Option* add(CLI::App& command, const Flag<Value>& flag, Given<Value>& target) {
  const CLI::callback_t store = [flag, &target](const CLI::results_t& words) {
    target = {flag.grammar.read(words.front(), flag.long_name()), words.front()};
    return true;
  };
  return command.add_option(flag.name, store, flag.help)
      ->type_name(flag.grammar.type)
      ->check(validator_of(flag));
}

// As text, for what the library reads itself.
CLI::Option* add(CLI::App& command, const Flag<std::string>& flag, std::optional<std::string>& target);
CLI::Option* add(CLI::App& command, const Flag<std::string>& flag, std::string& target);
// May be given several times, with one word each time.
CLI::Option* add(CLI::App& command, const Flag<std::string>& flag, std::vector<std::string>& target);
CLI::Option* add(CLI::App& command, const Switch& flag, bool& target);

// The range of a command. InvalidArgument naming the flag, the value and what is allowed.
int in_range(const Given<long long>& given, std::string_view flag, int fallback, int lowest, int highest);

}  // namespace starling::cli
