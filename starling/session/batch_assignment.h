// The assignment of an epoch's batches to workers. Only the rules: no messages, no threads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "starling/core/types.h"

namespace starling::session {

// The next task of a worker in an epoch.
struct Share {
  enum class Kind : std::uint64_t {
    kBatch,  // compute `batch`
    kEmpty,  // take part in the step with a gradient of no samples: others still have a batch in it
    kEnd,    // the epoch has nothing more for this worker
  };
  Kind kind = Kind::kEnd;
  std::uint64_t batch = 0;
  friend bool operator==(const Share&, const Share&) = default;
};

// Equal shares: worker r of n takes r, r + n, r + 2n, ... of the first floor(batches / n) n; `round` counts
// its requests from 0. InvalidArgument if there are fewer batches than workers.
Share equal_share(Rank worker, int workers, std::uint64_t batches, std::uint64_t round);

// What a worker knows of the batches that it was given, for a coordinator that has to go on with them.
struct ShareReport {
  std::uint64_t epoch = 0;           // of its last request
  std::uint64_t batches = 0;         // in that epoch; 0: it has not asked yet
  std::uint64_t rounds = 0;          // its shares in it, empty ones included
  std::uint64_t rounds_before = 0;   // the same in the epoch before
  std::vector<std::uint64_t> given;  // its batches in it

  // The answer to its request.
  void note(std::uint64_t asked_epoch, std::uint64_t epoch_batches, const Share& share);
};

// What was given out: all of the epochs before this one, and so many batches of it.
struct SharePosition {
  std::uint64_t epoch = 0;
  std::uint64_t batches = 0;
  friend bool operator==(const SharePosition&, const SharePosition&) = default;
};

// By demand: the next batch goes to the worker that asks, so that a fast worker computes more of them. Each
// batch of an epoch is given out once; that of a worker that dies is lost.
//
// If the coordinator, which has the assignment, is lost, the next one makes it again from what the living
// workers report. In the last epoch that one of them has reached, batches that none of them was given are
// given out: those of the dead a second time. Earlier epochs have no batches left.
//
// Workers in lockstep need the same number of steps: the epoch has as many rounds as the worker with most
// batches, and the others' last ones are empty. Otherwise an epoch ends for a worker when there are no more
// batches, and workers may be in different epochs.
class BatchAssignment {
 public:
  BatchAssignment(int workers, bool lockstep)
      : workers_(static_cast<std::size_t>(workers)), lockstep_(lockstep) {}
  // After the loss of a coordinator.
  BatchAssignment(int workers, bool lockstep, const std::map<Rank, ShareReport>& reports);

  // None if the worker's number of batches differs from that of the first that asked, which batches_of()
  // returns. A worker's epochs must not decrease.
  std::optional<Share> next(Rank worker, std::uint64_t epoch, std::uint64_t batches);
  std::uint64_t batches_of(std::uint64_t epoch) const { return epochs_.at(epoch).batches; }
  // In the last epoch that a worker has reached: the earlier ones have no batches left.
  SharePosition position() const;

 private:
  struct Epoch {
    std::uint64_t batches = 0;
    std::uint64_t given = 0;
    std::uint64_t rounds = 0;                             // in which a worker was given a batch
    std::optional<std::vector<std::uint64_t>> left = {};  // if not all were: those to give out

    std::uint64_t count() const { return left ? left->size() : batches; }
    std::uint64_t number(std::uint64_t i) const { return left ? (*left)[i] : i; }
  };
  struct Asker {
    std::uint64_t epoch = 0;
    std::uint64_t round = 0;  // requests in this epoch
  };

  Epoch& find_epoch(std::uint64_t epoch, std::uint64_t batches);
  void forget_old_epochs();

  std::vector<Asker> workers_;
  bool lockstep_;
  std::uint64_t first_open_ = 0;           // earlier epochs have nothing to give
  std::map<std::uint64_t, Epoch> epochs_;  // those that a worker is in or may reach
};

}  // namespace starling::session
