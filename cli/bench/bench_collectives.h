// `starling bench collectives`: our collectives against those of others, in one run.
#pragma once

#include <CLI/CLI.hpp>

namespace starling::cli {

void add_bench_collectives(CLI::App& bench);

}  // namespace starling::cli
