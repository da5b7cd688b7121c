// `starling bench train`: training with our strategies against PyTorch's DDP, in one run.
#pragma once

#include <CLI/CLI.hpp>

namespace starling::cli {

void add_bench_train(CLI::App& bench);

}  // namespace starling::cli
