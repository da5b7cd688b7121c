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

// By demand: the next batch goes to the worker that asks, so that a fast worker computes more of them. Each
// batch of an epoch is given out once; that of a worker that dies is lost.
//
// Workers in lockstep need the same number of steps: the epoch has as many rounds as the worker with most
// batches, and the others' last ones are empty. Otherwise an epoch ends for a worker when there are no more
// batches, and workers may be in different epochs.
class BatchAssignment {
 public:
  BatchAssignment(int workers, bool lockstep)
      : workers_(static_cast<std::size_t>(workers)), lockstep_(lockstep) {}

  // None if the worker's number of batches differs from that of the first that asked, which batches_of()
  // returns. A worker's epochs must not decrease.
  std::optional<Share> next(Rank worker, std::uint64_t epoch, std::uint64_t batches);
  std::uint64_t batches_of(std::uint64_t epoch) const { return epochs_.at(epoch).batches; }

 private:
  struct Epoch {
    std::uint64_t batches = 0;
    std::uint64_t given = 0;
    std::uint64_t rounds = 0;  // in which a worker was given a batch
  };
  struct Asker {
    std::uint64_t epoch = 0;
    std::uint64_t round = 0;  // requests in this epoch
  };

  void forget_old_epochs();

  std::vector<Asker> workers_;
  bool lockstep_;
  std::map<std::uint64_t, Epoch> epochs_;  // those that a worker is in or may reach
};

}  // namespace starling::session
