// The forms in which messages of the control channel travel. Readers throw Error, naming the sender, for
// bytes of another length, version or content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "starling/core/byte_codec.h"
#include "starling/session/background/snapshot_average.h"
#include "starling/session/callbacks.h"

namespace starling::session {

// stop_protocol.h
struct StopMessage {
  enum class Verb : std::uint8_t { kWish, kAsk, kAnswer, kLast };
  Verb verb = Verb::kWish;
  bool done = false;  // kAnswer: its strategy is over
  bool told = false;  // kAnswer: it knows the last step
  std::uint64_t steps = 0;
  std::uint64_t last = 0;
};

Bytes to_bytes(const StopMessage& message);
StopMessage stop_message_from(std::span<const std::byte> bytes, Rank from);

// checkpoint.h
struct CheckpointMessage {
  enum class Word : std::uint8_t { kHere, kWritten, kSkipped, kEnded, kSaved };
  Word word = Word::kHere;
  std::uint64_t steps = 0;
  // kWritten: its part has what one worker writes for all, and this is where they are in the data.
  bool for_all = false;
  SharePosition position = {};
};

Bytes to_bytes(const CheckpointMessage& message);
CheckpointMessage checkpoint_message_from(std::span<const std::byte> bytes, Rank from);

// model_equality_check.h
struct ModelHashes {
  std::uint64_t step = 0;
  std::vector<std::uint64_t> hashes;  // by section
};
struct ModelComparison {
  std::uint64_t step = 0;
  std::string difference;  // empty: there is none
};

Bytes to_bytes(const ModelHashes& hashes);
ModelHashes model_hashes_from(std::span<const std::byte> bytes, Rank from);
Bytes to_bytes(const ModelComparison& comparison);
ModelComparison model_comparison_from(std::span<const std::byte> bytes, Rank from);

// Without `lost`, which the receiver knows.
Bytes to_bytes(const Progress& progress);
Progress progress_from(std::span<const std::byte> bytes, Rank from);
// Of all workers, by rank.
Bytes to_bytes(const std::vector<Progress>& workers);
std::vector<Progress> progress_table_from(std::span<const std::byte> bytes, Rank from, int workers);

// A model goes behind it in the same message, aligned for its numbers.
inline constexpr std::size_t kModelCopyBytes = 56;
Bytes to_bytes(const ModelCopy& copy);
ModelCopy model_copy_from(std::span<const std::byte> bytes, Rank from);

// A snapshot that the coordinator has shown, with the steps of each worker in it, for its successor.
struct SnapshotCopy {
  Snapshot snapshot;
  std::vector<std::uint64_t> steps;
};

Bytes to_bytes(const Snapshot& snapshot, const std::vector<std::uint64_t>& steps);
SnapshotCopy snapshot_copy_from(std::span<const std::byte> bytes, Rank from);

}  // namespace starling::session
