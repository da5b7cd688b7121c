// All commands of `starling`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace starling::cli {

// `words` are those behind the name of the command. A command that ends with a code of its own leaves it in
// `exit_code`.
void add_commands(CLI::App& app, const std::vector<std::string>& words, int& exit_code);

}  // namespace starling::cli
