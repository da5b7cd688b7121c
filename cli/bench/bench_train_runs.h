// The subjects of `starling bench train`. Each call trains once in processes of its own, all with the same
// network, batch, optimiser and number of threads, and returns samples per second: those after the warm-up,
// over the time from the first worker's begin of them to the last one's end. Starting, making data and
// judging the model are not in it. Error with the process's last words if it fails.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/bench/bench_train_options.h"
#include "cli/bench/time_shares.h"

namespace starling::cli {

struct TrainMeasurement {
  double rate = 0;     // samples per second of all workers together
  double seconds = 0;  // of the window
  std::optional<TimeShares> shares;
};

// Loops around LibTorch without Starling, one per worker, which train at the same time.
TrainMeasurement run_plain(const BenchTrainOptions& options);

// `python` has PyTorch.
TrainMeasurement run_ddp(const BenchTrainOptions& options, const std::string& python);

// Workers that are unequal train for as long as the slowest needs for its steps, so that a strategy may let
// the others do more; `plain_seconds` tells how long that is.
TrainMeasurement run_starling(const BenchTrainOptions& options, const std::vector<std::string>& strategy,
                              double plain_seconds);

}  // namespace starling::cli
