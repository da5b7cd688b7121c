// The subjects of the benchmark of the collectives.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench/bench_subject.h"
#include "cli/peers/obey.h"
#include "starling/transport/transport.h"

namespace starling::cli {

std::unique_ptr<BenchSubject> start_starling(int ranks);

// One rank of it.
std::unique_ptr<BenchWorker> make_starling_worker(transport::Transport& net);

// As many threads as ranks, each copying between two vectors of its own: the limit of the machine's memory.
std::unique_ptr<BenchSubject> start_copying(int ranks);

// Whether something can be used here: how it is found, or why not.
struct Availability {
  bool available = false;
  std::string detail;                // for people
  std::vector<std::string> command;  // what to run, if available
};

// Another library to compare with.
struct Peer {
  std::string_view name;  // on the command line and in the results
  Availability (*find)();
  std::unique_ptr<BenchSubject> (*start)(int ranks, const Availability& found);
};

// All that are known; bench, its results and info read this table.
std::span<const Peer> peers();

// bench_subject_mpi.cpp, bench_subject_gloo.cpp
Availability find_mpi();
std::unique_ptr<BenchSubject> start_mpi(int ranks, const Availability& found);
Availability find_gloo();
std::unique_ptr<BenchSubject> start_gloo(int ranks, const Availability& found);

}  // namespace starling::cli
