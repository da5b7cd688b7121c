// The mean model of all workers over time, formed on the coordinator from the models that they send. Plain
// data and rules; snapshot_service.h decides what is sent when.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "starling/core/byte_codec.h"
#include "starling/session/background/loss_average.h"
#include "starling/session/callbacks.h"

namespace starling::session {

// Snapshot k belongs to the time k * interval. Of a long run not all are taken: only multiples of a stride,
// the smallest power of two with k / stride < 64. So those that are kept up to any k, being the multiples of
// its stride, are 64 at most.
std::uint64_t snapshot_stride(std::uint64_t k);
// The first one that is taken, from k on.
std::uint64_t first_snapshot(std::uint64_t k);

// One worker's model, for the snapshots `first` to `last`: after a step that took longer than the interval,
// one model counts for several.
struct ModelCopy {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // of a final one: the last whose time has come
  Duration time{};         // when it was taken
  std::uint64_t steps = 0;
  LossSum losses;      // since the last one
  bool final = false;  // the worker has ended: it counts for all later ones
};

class SnapshotAverage {
 public:
  using Show = std::function<void(Snapshot)>;
  using Done = std::function<void(Rank)>;  // a copy of this worker is no longer needed

  SnapshotAverage(int workers, Duration interval, Show show, Done done);

  // In the order in which the worker took them. The model follows after `offset` bytes. If the first one is
  // for later snapshots only, there are none before: the models for them went to another coordinator.
  void add(Rank worker, const ModelCopy& copy, Bytes bytes, std::size_t offset);
  // Nothing more will come from this worker, which made so many steps or more. One that has ended before
  // stays.
  void lose(Rank worker, std::uint64_t steps = 0);
  // Of each worker, in the last snapshot.
  std::vector<std::uint64_t> steps() const;

  // Whether every worker has ended or is lost, and which has not.
  std::optional<Rank> missing() const;
  // When none is missing: shows the mean of the workers that ended well, if there is any.
  void conclude();

 private:
  struct Held {
    ModelCopy about;
    Bytes bytes;
    std::size_t offset = 0;
    bool counted = false;  // its losses
  };
  struct Worker {
    std::deque<Held> pieces;
    std::uint64_t steps = 0;
    bool lost = false;
    bool begun = false;  // a copy has come
    bool ended() const { return !pieces.empty() && pieces.back().about.final; }
  };

  void close();
  bool all_cover(std::uint64_t k) const;
  void drop_before(std::uint64_t k);
  Snapshot snapshot();

  Duration interval_;
  Show show_;
  Done done_;
  std::vector<Worker> workers_;
  std::uint64_t next_ = 0;                // not closed yet
  std::optional<std::uint64_t> horizon_;  // the last whose time has come
  LossSum losses_;                        // since the last one shown
};

}  // namespace starling::session
