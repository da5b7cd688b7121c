// `starling launch`: the processes of a run on this host or on several.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace starling::cli {

// `words` are the program's arguments as given. The exit code is that of launch(), left in `exit_code`.
void add_launch(CLI::App& app, std::vector<std::string> words, int& exit_code);

}  // namespace starling::cli
