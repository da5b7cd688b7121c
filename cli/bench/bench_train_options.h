// The options of `starling bench train`: as they are typed, and as they are used.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/common/flag.h"

namespace starling::cli {

// As given: each value is checked for itself.
struct BenchTrainFlags {
  std::string against = "ddp";
  Given<long long> workers;
  std::vector<std::string> slow;
  std::string strategies = "allreduce,allreduce --schedule ddp,local-sgd,dpsgd,ps --mode asp";
  Given<std::uint64_t> steps;
  std::string rounds = "3";
  std::string json;
};

void add_bench_train_flags(CLI::App& command, BenchTrainFlags& flags);

struct BenchTrainOptions {
  bool ddp = true;
  int workers = 0;
  std::vector<double> slow;                          // by worker, how many times slower it is
  std::vector<std::vector<std::string>> strategies;  // the words of each: its name and its flags
  std::uint64_t steps = 0;                           // that are timed, of each worker
  int rounds = 0;
  std::string json;  // empty: none, "-": standard output

  double slowest() const;
  // How many workers of full speed would do as much.
  double summed_speed() const;
};

// Throws InvalidArgument naming the value and what is allowed.
BenchTrainOptions parse_options(const BenchTrainFlags& flags);

}  // namespace starling::cli
