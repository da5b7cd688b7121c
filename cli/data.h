// `starling data`: shows a data set, or writes it for other programs.
#pragma once

#include <CLI/CLI.hpp>

namespace starling::cli {

void add_data(CLI::App& app);

}  // namespace starling::cli
