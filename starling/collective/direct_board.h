// The data that members of a direct exchange write for each other, in the board that each rank has in shared
// memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "starling/core/types.h"
#include "starling/transport/shared_memory.h"

namespace starling::collective {

// Exchanges a rank can be part of at one time; further ones wait for a free posting.
inline constexpr std::size_t kPostings = 128;
inline constexpr std::size_t kMaxPieces = 1024;        // pieces of work in one exchange
inline constexpr std::size_t kInlineBytes = 16 << 10;  // data up to this size may live in the posting itself
// Bytes summed at one time. Small enough that the sum is written back while the sources are still in the
// first cache.
inline constexpr std::size_t kBlockBytes = 8 << 10;
inline constexpr int kMaxMembers = 256;

// The contribution of one member to an exchange. Written by its owner while `state` says kFree, read by the
// others afterwards. One cache line, so that looking through a rank's postings is quick.
struct alignas(64) Posting {
  enum State : std::uint64_t { kFree, kPosted, kLocked, kLeft };

  // serial << 2 | State. Only its owner frees it; anyone may lock it.
  std::atomic<std::uint64_t> state;
  std::uint64_t tag;
  std::uint64_t group;  // hash of the members in order
  std::uint64_t offset;
  std::uint64_t count;
  std::uint32_t type;
  std::uint32_t task;
  std::uint32_t reduction;
  std::int32_t root;
  double weight;

  static std::uint64_t word(std::uint64_t serial, State state) { return serial << 2 | state; }
  static State state_of(std::uint64_t word) { return static_cast<State>(word & 3); }
  static std::uint64_t serial_of(std::uint64_t word) { return word >> 2; }
};
static_assert(sizeof(Posting) == 64);

// The common state of an exchange, stored beside the posting of the group's first member.
struct Ledger {
  enum Verdict : std::uint64_t { kOpen, kCommitted, kAborted };

  // serial of the posting << 16 | rank that aborted << 2 | Verdict.
  alignas(64) std::atomic<std::uint64_t> verdict;
  std::atomic<std::uint64_t> left[kMaxMembers / 64];  // by member: it is done with this exchange
  alignas(64) std::atomic<std::uint64_t> pieces[kMaxPieces];

  static std::uint64_t word(std::uint64_t serial, Verdict verdict, Rank aborted_by = 0) {
    return serial << 16 | static_cast<std::uint64_t>(aborted_by) << 2 | verdict;
  }
  static Verdict verdict_of(std::uint64_t word) { return static_cast<Verdict>(word & 3); }
  static Rank aborter_of(std::uint64_t word) { return static_cast<Rank>(word >> 2 & 0x3fff); }
  static std::uint64_t serial_of(std::uint64_t word) { return word >> 16; }

  // By the place in the group, because ranks may be greater than the number of members.
  bool has_left(std::size_t member) const { return (left[member / 64].load() >> (member % 64) & 1) != 0; }
  void note_left(std::size_t member) { left[member / 64].fetch_or(std::uint64_t{1} << (member % 64)); }
};

// The state of a piece of work in one word: its worker, and how far it got. Two steps per block: the sum is
// formed in the worker's log (odd), the log is copied to every member (even).
struct Piece {
  static constexpr std::uint64_t kDone = std::uint64_t{1} << 63;
  static std::uint64_t claimed(Rank by, std::uint64_t progress) {
    return (static_cast<std::uint64_t>(by) + 1) << 32 | progress;
  }
  static bool free(std::uint64_t word) { return word == 0; }
  static Rank worker(std::uint64_t word) { return static_cast<Rank>((word >> 32) & 0xffff) - 1; }
  static std::uint64_t progress(std::uint64_t word) { return word & 0xffffffff; }
};

struct Board {
  // Postings from here on have never been used and are not looked at. Grows only.
  alignas(64) std::atomic<std::uint64_t> used;
  Posting postings[kPostings];
  Ledger ledgers[kPostings];
  std::byte inline_data[kPostings][kInlineBytes];
  // A redo log: when its owner dies between forming a sum and copying it to everybody, another member copies
  // it out from here. Used by one block at a time, without suspending in between, so one is enough.
  alignas(64) std::byte log[kBlockBytes];
};
static_assert(sizeof(Board) <= transport::SharedMemory::kBoardBytes);

inline Board& board_of(transport::SharedMemory& memory, Rank rank) {
  return *reinterpret_cast<Board*>(memory.board(rank).data());
}

}  // namespace starling::collective
