// The contestants of `starling bench train`. Each call trains once in processes of its own, all with the same
// network, batch, optimiser and number of threads, and returns samples per second: those after the warm-up,
// over the time from the first worker's begin of them to the last one's end. Starting, making data and
// judging the model are not in it. Error with the process's last words if it fails.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/bench_train_options.h"

namespace starling::cli {

// A loop around LibTorch without Starling: one worker of full speed.
double run_plain(const BenchTrainOptions& options);

// `python` has PyTorch.
double run_ddp(const BenchTrainOptions& options, const std::string& python);

// Workers that are unequal train for as long as the slowest needs for its steps, so that a strategy may let
// the others do more; `plain` tells how long that is.
double run_starling(const BenchTrainOptions& options, const std::vector<std::string>& strategy, double plain);

// One worker of full speed.
double run_alone(const BenchTrainOptions& options);

}  // namespace starling::cli
