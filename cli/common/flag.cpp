#include "cli/common/flag.h"

#include <limits>

#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::cli {
namespace {

// CLI11 checks the words and stores the last one as it is.
template <class Target>
CLI::Option* add_text(CLI::App& command, const Flag<std::string>& flag, Target& target) {
  return command.add_option(flag.name, target, flag.help)
      ->type_name(flag.grammar.type)
      ->check(validator_of(flag));
}

}  // namespace

Grammar<long long> whole_number() {
  return {"N", [](const std::string& text, std::string_view flag) {
            using Limits = std::numeric_limits<long long>;
            try {
              return parse_integer(text, flag, Limits::min(), Limits::max());
            } catch (const InvalidArgument&) {
              throw InvalidArgument(concat(flag, ": '", text, "' is not a whole number"));
            }
          }};
}

Grammar<std::uint64_t> whole_number(long long lowest, long long highest) {
  return {"N", [lowest, highest](const std::string& text, std::string_view flag) {
            return static_cast<std::uint64_t>(parse_integer(text, flag, lowest, highest));
          }};
}

Grammar<double> number(double lowest, double highest) {
  return {"NUMBER", [lowest, highest](const std::string& text, std::string_view flag) {
            return parse_number(text, flag, lowest, highest);
          }};
}

Grammar<Duration> positive_time() {
  return {"TIME", [](const std::string& text, std::string_view flag) {
            const Duration duration = parse_duration(text, flag);
            if (duration > Duration{}) return duration;
            throw InvalidArgument(concat(flag, ": '", text, "'; allowed: more than 0"));
          }};
}

Grammar<Duration> time() {
  return {"TIME", [](const std::string& text, std::string_view flag) { return parse_duration(text, flag); }};
}

Grammar<transport::Link> link_speed() {
  return {"LINK",
          [](const std::string& text, std::string_view flag) { return transport::parse_link(text, flag); }};
}

Grammar<std::string> any_text() {
  return {"TEXT", [](const std::string& text, std::string_view) { return text; }};
}

Grammar<std::string> text_like(std::string type,
                               std::function<void(const std::string&, std::string_view)> check) {
  return {std::move(type), [check = std::move(check)](const std::string& text, std::string_view flag) {
            check(text, flag);
            return text;
          }};
}

std::string complaint_of(const std::function<void()>& read, std::string_view flag) {
  try {
    read();
  } catch (const InvalidArgument& error) {
    const std::string_view text = error.what();
    const std::string prefix = concat(flag, ": ");
    return std::string(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
  }
  return "";
}

CLI::Option* add(CLI::App& command, const Flag<std::string>& flag, std::optional<std::string>& target) {
  return add_text(command, flag, target);
}

CLI::Option* add(CLI::App& command, const Flag<std::string>& flag, std::string& target) {
  return add_text(command, flag, target);
}

CLI::Option* add(CLI::App& command, const Flag<std::string>& flag, std::vector<std::string>& target) {
  return add_text(command, flag, target)->allow_extra_args(false);
}

CLI::Option* add(CLI::App& command, const Switch& flag, bool& target) {
  return command.add_flag(flag.name, target, flag.help);
}

int in_range(const Given<long long>& given, std::string_view flag, int fallback, int lowest, int highest) {
  if (!given) return fallback;
  return static_cast<int>(parse_integer(given.text(), flag, lowest, highest));
}

}  // namespace starling::cli
