// The options of `starling bench train`: as they are typed, and as they are used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace starling::cli {

struct BenchTrainText {
  std::string against = "ddp";
  std::string workers = "2";
  std::vector<std::string> slow;
  std::string strategies = "allreduce,allreduce --schedule ddp,local-sgd,dpsgd,ps --mode asp";
  std::string steps = "60";
  std::string rounds = "3";
  std::string json;
};

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
BenchTrainOptions parse_options(const BenchTrainText& text);

}  // namespace starling::cli
