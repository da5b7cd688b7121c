// The memory that the ranks of one host share: a memfd, so that no crash leaves anything in the file system,
// and one eventfd per rank as its doorbell. It reaches the processes by inheritance (fork) or through a Unix
// socket (handover.h).
//
// The file is sparse: addresses are plentiful, memory is only used where it is touched. So the memory follows
// the model, which is not known when the arena is made, and the addresses follow the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "starling/core/descriptor.h"
#include "starling/core/types.h"
#include "starling/transport/shm/layout.h"

namespace starling::transport::shm {

class Arena {
 public:
  struct Options {
    std::size_t heap_bytes = 0;  // addresses for each rank's memory, not memory; 0: as many as it could fill
  };

  // Makes the arena; everything in it is zero. Throws InvalidArgument for a number of ranks out of range.
  static std::shared_ptr<Arena> create(int ranks) { return create(ranks, Options{}); }
  static std::shared_ptr<Arena> create(int ranks, Options options);
  // Maps an arena that another process made.
  static std::shared_ptr<Arena> open(Descriptor memory, std::vector<Descriptor> doorbells);
  ~Arena();

  // The ranks of this arena in ascending order, for this process: 0, 1, ... unless the run has ranks on other
  // hosts too.
  void set_members(std::vector<Rank> members);
  const std::vector<Rank>& members() const { return members_; }
  bool has(Rank rank) const { return slot_of(rank) >= 0; }
  std::size_t index(Rank rank) const { return static_cast<std::size_t>(slot_of(rank)); }

  int ranks() const { return static_cast<int>(doorbells_.size()); }
  int memory() const { return memory_.get(); }
  int doorbell(Rank rank) const { return doorbells_[index(rank)].get(); }

  Header& header() const { return *reinterpret_cast<Header*>(base_); }
  RankSlot& slot(Rank rank) const;
  Pipe& pipe(Rank from, Rank to) const;
  Offer& offer(Rank owner, std::uint64_t index) const;
  std::span<std::byte> board(Rank rank) const;
  std::span<std::byte> heap(Rank rank) const;

  // Called by a launcher, which knows of the process before that joins.
  void introduce(Rank rank, pid_t pid) const;
  // Takes the rank for a process; false if another one has it.
  bool claim(Rank rank, ProcessIdentity process) const;
  // The process that claimed the rank is ready for messages.
  void enter(Rank rank) const;
  // The process behind a rank, as far as it is known.
  ProcessIdentity process(Rank rank) const;
  // The rank has ended; false if that was known.
  bool bury(Rank rank, Presence how) const;
  bool gone(Rank rank) const;
  bool died(Rank rank) const;

  // Wakes the rank if it is parked.
  bool ring(Rank rank) const;

  std::optional<std::uint64_t> offset_of(std::span<const std::byte> bytes) const;
  std::byte* at(std::uint64_t offset) const { return base_ + offset; }

  // Memory of a heap: reserve throws when none is left; touching it would raise SIGBUS.
  void reserve(std::span<const std::byte> bytes) const;
  void give_back(std::span<const std::byte> bytes) const noexcept;

 private:
  void tell_of_change() const;

  // The offsets of the parts.
  struct Places {
    Places(std::size_t ranks, std::size_t heap_bytes);
    std::size_t slots, pipes, offers, boards, heaps, end;
  };

  Arena(Descriptor memory, std::vector<Descriptor> doorbells, std::size_t heap_bytes);

  int slot_of(Rank rank) const {
    const auto place = static_cast<std::size_t>(rank);
    return place < slots_.size() ? slots_[place] : -1;
  }

  Descriptor memory_;
  std::vector<Descriptor> doorbells_;
  std::vector<Rank> members_;
  std::vector<int> slots_;  // by rank; -1: on another host
  std::size_t heap_bytes_;
  Places places_;
  std::byte* base_ = nullptr;
};

}  // namespace starling::transport::shm
