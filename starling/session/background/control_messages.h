// The forms in which messages of the control channel travel. Readers throw Error, naming the sender, for
// bytes of another length, version or content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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
  enum class Word : std::uint8_t { kHere, kWritten, kSkipped, kEnded };
  Word word = Word::kHere;
  std::uint64_t steps = 0;
};

Bytes to_bytes(const CheckpointMessage& message);
CheckpointMessage checkpoint_message_from(std::span<const std::byte> bytes, Rank from);

// Without `lost`, which the receiver knows.
Bytes to_bytes(const Progress& progress);
Progress progress_from(std::span<const std::byte> bytes, Rank from);

// A model goes behind it in the same message, aligned for its numbers.
inline constexpr std::size_t kModelCopyBytes = 56;
Bytes to_bytes(const ModelCopy& copy);
ModelCopy model_copy_from(std::span<const std::byte> bytes, Rank from);

}  // namespace starling::session
