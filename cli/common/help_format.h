// How the help of commands looks: a flag's default stands in parentheses behind its description.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace starling::cli {

class HelpFormat final : public CLI::Formatter {
 public:
  // " TYPE"
  std::string make_option_opts(const CLI::Option* option) const override;
  // "learning rate (0.1)"
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace starling::cli
