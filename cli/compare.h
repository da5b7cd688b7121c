// The command `starling compare`: runs side by side, by how soon they were how good.
#pragma once

#include <CLI/CLI.hpp>

namespace starling::cli {

void add_compare(CLI::App& app);

}  // namespace starling::cli
