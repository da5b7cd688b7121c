// The options of `starling bench collectives`: as they are typed, and as they are used.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/bench/bench_subjects.h"
#include "cli/peers/job.h"

namespace starling::cli {

struct BenchText {
  std::string ranks = "2,4,8";
  std::string sizes = "1k,64k,1m,100m";
  std::string ops = "allreduce";
  std::string against = "mpi,gloo";
  std::string rounds = "7";
  std::string json;
};

struct BenchOptions {
  std::vector<int> ranks;
  std::vector<std::size_t> sizes;
  std::vector<Op> ops;
  std::vector<const Peer*> against;
  int rounds = 0;
  std::string json;  // empty: none, "-": standard output
};

// Throws InvalidArgument naming the value and what is allowed.
BenchOptions parse_options(const BenchText& text);

// Throws InvalidArgument if the largest vectors of all subjects do not fit into that much memory.
void check_memory(const BenchOptions& options, std::size_t available_bytes);

}  // namespace starling::cli
