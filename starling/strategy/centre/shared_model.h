// A model in the common memory of a host, which every worker reads and updates in place: no server, no
// messages. Workers go through it block by block, each beginning at a block of its own, so that they seldom
// meet.
//
//   locked  A block is updated by one worker at a time. So the updates of a block are as if they had been
//   made
//           one after the other, in the order in which they took the lock. Two blocks may see two workers in
//           different orders: the model is linearisable by block, not as a whole.
//   wild    Without locks. Where two workers update an element in the same instant, one of the updates is
//   lost
//           (core/shared_update.h). On virtual time a block is updated in one instant, so nothing is lost
//           there.
//
// A worker that dies within a block leaves it half updated: each element has its update or has it not. The
// others go on.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "starling/strategy/centre/block_locks.h"
#include "starling/strategy/centre/centre.h"

namespace starling::strategy {

// Whether all workers have the memory that a SharedModel needs.
bool have_common_memory(Member& self);
// InvalidArgument, beginning with `what`, if not.
void require_common_memory(Member& self, std::string_view what);

class SharedModel {
 public:
  struct Rules {
    bool locked = true;
    CentreOrder order = CentreOrder::kAnyTime;
  };

  static constexpr std::size_t kBlockElements = std::size_t{1} << 15;

  // `computed`: when the worker's present step was computed; none while it computes. Both must outlive this.
  SharedModel(Worker& self, const Rules& rules, const std::optional<Time>& computed);

  // Before anything else, by all workers: returns when all that live have found the model. It is the initial
  // one, or in a run that continues from a checkpoint the one that was kept under this name.
  Task<> open(std::string_view name);

  // Calls update(shared elements, their place in the model) for every block. The elements may be ghosts.
  using Update = std::function<void(Data shared, Slice place)>;
  Task<> visit(const Update& update);

  // Nobody waits for this worker's turn from now on.
  void leave();

  Data model() const { return model_; }
  // For each block the number of this worker's last visit, where all workers' visits are counted from 1.
  const std::vector<std::uint64_t>& last_visits() const { return last_visits_; }

 private:
  // What the memory begins with; the workers' states, the locks and the model follow.
  struct alignas(64) Board {
    std::atomic<Rank> turn;  // the worker whose turn it is, where they take turns
  };
  enum class State : std::int32_t { kAbsent, kPresent, kLeft };
  struct alignas(64) WorkerState {
    std::atomic<State> state;
  };

  Slice block(std::size_t index) const;
  std::size_t bytes_before_model() const;
  bool is_lowest() const;
  void make();
  void use(std::byte* memory, bool fresh);
  bool all_have_found_it() const;
  bool takes_part(Rank worker) const;
  Rank whose_turn() const;
  Task<> await_turn();
  void note_staleness(std::size_t index);

  Worker& self_;
  transport::CommonMemory& memory_;
  Rules rules_;
  const std::optional<Time>& computed_;
  Data model_;
  std::vector<std::uint64_t> last_visits_;
  Board* board_ = nullptr;
  std::span<WorkerState> states_;  // by worker
  std::span<BlockLock> words_;     // by block
  std::optional<BlockLocks> locks_;
};

}  // namespace starling::strategy
