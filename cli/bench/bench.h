// `starling bench`: the benchmarks, one subcommand each.
#pragma once

#include <CLI/CLI.hpp>

namespace starling::cli {

void add_bench(CLI::App& app);

}  // namespace starling::cli
