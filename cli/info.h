// `starling info`: what this program is, what it can use here, and what not, and why.
#pragma once

#include <CLI/CLI.hpp>

namespace starling::cli {

void add_info(CLI::App& app);

}  // namespace starling::cli
