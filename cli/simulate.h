// `starling simulate`: a strategy on a described cluster, on virtual time.
#pragma once

#include <CLI/CLI.hpp>

namespace starling::cli {

void add_simulate(CLI::App& app);

}  // namespace starling::cli
