// The contents of the arena. Several processes write it, any of which may be killed between two instructions,
// so each structure has one writer per field or changes by one atomic operation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "starling/core/process_identity.h"
#include "starling/core/types.h"

namespace starling::transport::shm {

inline constexpr std::size_t kLine = 64;
inline constexpr int kMaxRanks = 256;
inline constexpr std::size_t kPipeBytes = std::size_t{64} << 10;
inline constexpr std::size_t kOffers = 1024;

template <class T>
using Shared = std::atomic<T>;
static_assert(Shared<std::uint64_t>::is_always_lock_free && Shared<ProcessIdentity>::is_always_lock_free,
              "atomics in shared memory must be lock-free");

enum class Presence : std::uint32_t { kUnknown = 0, kJoined = 1, kDied = 2, kLeft = 3 };

struct RankSlot {
  // A launcher may start a wrapper, whose child becomes the rank: from then on that counts.
  Shared<ProcessIdentity> launched;
  Shared<ProcessIdentity> joined;
  Shared<Presence> presence;
  Shared<std::uint32_t> ended_by;  // 1 + the rank that ended this one because it stood still; else 0

  // Read by ranks that may have to ring this one.
  alignas(kLine) Shared<std::uint32_t> parked;

  // Raised while the rank's loop runs (stall_watch.h); 0: nobody may judge by it.
  alignas(kLine) Shared<std::uint64_t> beats;

  // News for this rank: which pipes have records, and a count of finished offers and freed pipe space.
  alignas(kLine) Shared<std::uint64_t> inbox[kMaxRanks / 64];
  Shared<std::uint64_t> nudges;
};

struct Header {
  static constexpr std::uint64_t kMagic = 0x33676e696c726174;  // changes with the layout
  Shared<std::uint64_t> magic;
  std::uint64_t ranks;
  std::uint64_t heap_bytes;                      // of each rank
  alignas(kLine) Shared<std::uint64_t> changes;  // counts changes of any rank's presence or process
  // The rank that is to be ended because it stands still, and the rank that found it so (stall_watch.h).
  Shared<std::uint64_t> eviction;
  Shared<std::int64_t> stall_limit;  // in nanoseconds, the same for all ranks; 0: not set yet
  // The block that the ranks use in place, 0: none; and how many ranks wait for a change of it
  // (arena_common_memory.h).
  alignas(kLine) Shared<std::uint64_t> common_offset;
  Shared<std::uint64_t> common_waiters;
};

// A pipe carries records from one rank to another. `tail` moves after a record is complete and `head` after
// it is used up, so neither side ever sees half a record, even if the other dies.
struct Pipe {
  alignas(kLine) Shared<std::uint64_t> tail;  // written by the sender
  alignas(kLine) Shared<std::uint64_t> head;  // written by the receiver
  Shared<std::uint32_t> sender_waits;         // for space
  alignas(kLine) std::byte data[kPipeBytes];
};

struct Record {
  enum Kind : std::uint32_t { kInline, kOffer, kSkip };
  std::uint32_t kind;
  std::uint32_t offer;  // kOffer: the sender's offer
  std::uint64_t tag;
  std::uint64_t bytes;
  std::int64_t arrives;  // on an emulated link: when, in nanoseconds of the host's steady clock
  std::uint64_t offset;  // kOffer: offset of the message in the arena
  std::uint64_t serial;
};

// A large message that its receiver copies out of the sender's memory. The word is (serial << 2 | state); the
// side that moves it decides: a receive that takes it, or a sender that withdraws it.
struct Offer {
  enum State : std::uint64_t { kOpen, kTaken, kDone, kWithdrawn };
  Shared<std::uint64_t> word;
  static std::uint64_t make(std::uint64_t serial, State state) { return serial << 2 | state; }
};

}  // namespace starling::transport::shm
