// How many pieces of a batch a worker computes in one pass, where it decides that itself (ours).
//
// A pass costs time besides that of its samples: starting the kernels, one more look at the others, a batch
// that does not fill the processor. So few large passes are cheap. But a step may end in the middle of one:
// then the others wait for its rest, or it is lost, half a pass on average. With a the overhead of a pass, b
// the time of a piece, m the pieces of a step and q the share of steps that end in the middle of a pass, a
// step loses
//
//   a m / g + q b g / 2        with passes of g pieces, least for g = sqrt(2 a m / (q b)).
//
// q rises when the worker was late and falls while it is not: a worker that the others never wait for ends
// with one pass. a / b is fitted to passes of the same step, whose lengths differ a little on purpose: what
// makes a whole step slow has no part in it.
#pragma once

#include <cstdint>
#include <vector>

#include "starling/core/types.h"

namespace starling::strategy {

class PieceSize {
 public:
  explicit PieceSize(int pieces) : pieces_(pieces) {}

  void step_begins(Time now);
  // Before each pass: how many pieces it should have. `done` are finished.
  int next_pass(Time now, int done);
  // `late`: the step was over before the worker's last pass.
  void step_ends(Time now, int done, bool late);

  // How many pieces fit into a pass of so many seconds, by the passes so far; all if nothing is known.
  int fitting(double seconds) const;

 private:
  struct Pass {
    double pieces = 0, seconds = 0;
  };

  void pass_ends(Time now, int done);
  void learn();
  double overhead() const;  // a / b
  double best() const;
  double wanted() const;

  int pieces_;
  std::uint64_t steps_ = 0, begun_ = 0;  // steps, passes
  Time pass_begun_{};
  int done_before_ = 0;
  std::vector<Pass> passes_;  // of this step
  double late_ = 1;           // q
  double pieces_done_ = 0;    // m
  double piece_seconds_ = 0;  // b
  // Sums over passes of g pieces that took as long as t pieces of their step without overhead. Older ones
  // fade.
  double count_ = 0, sum_g_ = 0, sum_t_ = 0, sum_gg_ = 0, sum_gt_ = 0;
};

}  // namespace starling::strategy
