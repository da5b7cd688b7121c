// `starling analyse`: what order statistics say about strategies on workers of random speed, beside what a
// simulation measures.
#pragma once

#include <CLI/CLI.hpp>

namespace starling::cli {

void add_analyse(CLI::App& app);

}  // namespace starling::cli
