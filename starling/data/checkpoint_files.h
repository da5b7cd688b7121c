// Checkpoints on disk: DIR/step-1200/rank-3.safetensors for each worker, and DIR/latest.json, which names the
// newest complete one and the one before it, with the workers that have a part in each: those that lived. A
// checkpoint counts when latest.json says so; whatever else lies there is left over from a run that was
// killed while it wrote, and is removed with the next.
//
// Everything is on disk before latest.json says so, and that before an older checkpoint is removed, so a
// machine that loses its power leaves one. The parts have checksums: damage is noticed when they are read,
// and then there is the one before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "starling/core/types.h"

namespace starling::data {

struct WorkerState {
  std::vector<float> parameters;
  std::vector<float> extras;
  std::vector<std::byte> kept;          // of the strategy and the optimiser
  std::vector<std::byte> server;        // the lowest rank: of the service that has a rank of its own
  std::vector<std::byte> program = {};  // of the training program: its optimiser, its random numbers
};

// Values that must be the same in the run that goes on: "model" is "lenet", ...
using RunKeys = std::map<std::string, std::string>;

// The batches that were given out, where workers take them by demand: all of the epochs before this one, and
// so many of it.
struct DataPosition {
  std::uint64_t epoch = 0;
  std::uint64_t batches = 0;
  friend bool operator==(const DataPosition&, const DataPosition&) = default;
};

struct CompleteCheckpoint {
  std::uint64_t step = 0;
  Group ranks = {};  // that have a part in it, ascending
  std::optional<DataPosition> position = {};
  friend bool operator==(const CompleteCheckpoint&, const CompleteCheckpoint&) = default;
};

// The part that a rank goes on from: its own, or that of the lowest rank if it has none.
Rank part_for(Rank rank, const CompleteCheckpoint& checkpoint);

class CheckpointFiles {
 public:
  explicit CheckpointFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Error if it cannot be written, as on a full disk; what was written of it is removed.
  void write(std::uint64_t step, Rank rank, const WorkerState& state) const;
  // These ranks have written theirs: from now on this is the newest. The one before stays, older ones are
  // removed. If one of these parts cannot be seen here, it is removed itself.
  void commit(const CompleteCheckpoint& checkpoint, const RunKeys& keys) const;

  // The newest and the one before, if there is one. InvalidArgument naming the file if there is none or it is
  // damaged, and naming the key and both values if the run is another one.
  std::vector<CompleteCheckpoint> complete(const RunKeys& keys) const;
  // InvalidArgument naming the file and its damage.
  WorkerState read(std::uint64_t step, Rank rank) const;

 private:
  bool has_parts(const CompleteCheckpoint& checkpoint) const;
  void remove_all_but(const std::vector<CompleteCheckpoint>& checkpoints) const;
  std::optional<CompleteCheckpoint> newest_before(std::uint64_t step, const RunKeys& keys) const;
  std::filesystem::path step_folder(std::uint64_t step) const;
  std::filesystem::path rank_file(std::uint64_t step, Rank rank) const;

  std::filesystem::path folder_;
};

}  // namespace starling::data
