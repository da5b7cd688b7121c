// Checkpoints on disk: DIR/step-1200/rank-3.safetensors for each worker, and DIR/latest.json, which names the
// newest complete one. A checkpoint counts when latest.json says so; whatever else lies there is left over
// from a run that was killed while it wrote, and is removed with the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "starling/core/types.h"

namespace starling::data {

struct WorkerState {
  std::vector<float> parameters;
  std::vector<float> extras;
  std::vector<std::byte> kept;          // of the strategy and the optimiser
  std::vector<std::byte> server;        // rank 0: of the service that has a rank of its own
  std::vector<std::byte> program = {};  // of the training program: its optimiser, its random numbers
};

// Values that must be the same in the run that goes on: "model" is "lenet", ...
using RunKeys = std::map<std::string, std::string>;

class CheckpointFiles {
 public:
  explicit CheckpointFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void write(std::uint64_t step, Rank rank, const WorkerState& state) const;
  // All ranks have written theirs: from now on this is the newest, and older ones are removed.
  // Without one of a worker, which has died, nobody could go on from it: it is removed, and the one before
  // stays.
  void commit(std::uint64_t step, int workers, const RunKeys& keys) const;

  // InvalidArgument naming the file if there is none or it is damaged, and naming the key and both values if
  // the run is another one.
  std::uint64_t latest(const RunKeys& keys) const;
  WorkerState read(std::uint64_t step, Rank rank) const;

 private:
  std::filesystem::path step_folder(std::uint64_t step) const;
  std::filesystem::path rank_file(std::uint64_t step, Rank rank) const;

  std::filesystem::path folder_;
};

}  // namespace starling::data
