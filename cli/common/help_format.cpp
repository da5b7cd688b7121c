#include "cli/common/help_format.h"

#include "starling/core/text.h"

namespace starling::cli {

std::string HelpFormat::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return "";
  return concat(" ", option->get_type_name(), option->get_required() ? " REQUIRED" : "");
}

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  const std::string fallback = option->get_default_str();
  return fallback.empty() ? option->get_description()
                          : concat(option->get_description(), " (", fallback, ")");
}

}  // namespace starling::cli
