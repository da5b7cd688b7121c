// Rounds of local SGD in which slow workers make fewer steps, so that all get to the end of a round at about
// the same time: the dynamic local updates (DyLU) of Liu et al., "Asynchronous local-SGD training for
// language modeling", 2024, for rounds with an exchange among all. With H the steps of the fastest worker and
// v_i the steps per second of worker i in its last round:
//
//   H_i = max(1, floor(H v_i / max_j v_j + 0.1))
//
// Ours: the tenth of a step, without which a worker of exactly half the speed would often lose a whole one,
// and the least number, 1, where the code of HALoS has 5: with short rounds all would wait for a slow worker.
// In the first round, before speeds are known, all make a tenth of H. A step's time is that of its computing
// and its update; pauses and exchanges do not count.
//
// Workers make different numbers of steps, so some are over sooner. These go on to take part in the exchanges
// until all are over, and so does a worker that is to rest for a checkpoint, until all rest.
#pragma once

#include <cstdint>

#include "starling/strategy/agreed_exchange.h"

namespace starling::strategy {

// H_i, if the worker has this share of the fastest one's speed.
std::uint64_t steps_in_round(std::uint64_t fastest_steps, double speed_share);

class RoundLength {
 public:
  // What this worker is about to do.
  enum class Next { kSteps, kRest, kOver };

  // The same on all workers.
  struct End {
    bool anyone_steps = false;  // without a rest
    bool all_over = false;
    bool changed = false;  // a worker's model has changed since its last average
    bool idle = false;     // that of another has not
  };

  // A model is averaged in so many parts, one in each round. The references must outlive it.
  RoundLength(Worker& self, AgreedExchange& agreed, std::size_t parts);

  // Of this worker in the round that begins.
  std::uint64_t steps(std::uint64_t fastest_steps) const;

  // One step of this worker; its update took so long.
  void count_step(Duration updating);
  // All workers meet at the end of the round, before they average their models.
  Task<End> meet(Next next);
  // By which models are averaged after it: those that have not changed have next to no weight.
  collective::Reduction mean(const End& end) const;

 private:
  // Part of checkpoints.
  struct Pace {
    std::uint64_t rounds = 0;
    std::uint64_t idle_rounds = 0;  // since the last step
    double speed = 0;               // steps per second
    double share = 1;               // of the fastest worker's
  };

  void measure();

  Worker& self_;
  AgreedExchange& agreed_;
  std::uint64_t parts_;
  Pace pace_;
  std::uint64_t made_ = 0;    // steps in this round
  Duration updating_{};       // in this round
  Duration computed_before_;  // before this round
};

}  // namespace starling::strategy
