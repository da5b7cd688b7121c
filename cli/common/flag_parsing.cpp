#include "cli/common/flag_parsing.h"

#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::cli {

std::uint64_t whole(const std::string& text, std::string_view flag, long long lowest, long long highest) {
  return static_cast<std::uint64_t>(parse_integer(text, flag, lowest, highest));
}

Duration positive_duration(const std::string& text, std::string_view flag) {
  const Duration duration = parse_duration(text, flag);
  if (duration <= Duration{}) throw InvalidArgument(concat(flag, ": '", text, "'; allowed: more than 0"));
  return duration;
}

void add_repeated(CLI::App& command, const char* flag, std::vector<std::string>& values,
                  const std::string& help, const char* group) {
  command.add_option(flag, values, help)->allow_extra_args(false)->type_name("TEXT")->group(group);
}

}  // namespace starling::cli
