// `starling simulate`: a strategy on a described cluster, on virtual time.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace starling::cli {

// `words` are those behind `starling simulate` on the command line, for run.json.
void add_simulate(CLI::App& app, std::vector<std::string> words);

}  // namespace starling::cli
