// When the pieces of a worker's step are done. A step of f X seconds is cut in K pieces, which share a factor
// (a jitter span of a step: piece k ends at k f X / K), or have their own (a span of a piece: at f (X_1 + ...
// + X_k) / K).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "starling/analysis/draw_sums.h"

namespace starling::analysis {

// Of a worker that takes a second for a step without jitter.
class PieceClock {
 public:
  using Function = std::function<double(double)>;

  virtual ~PieceClock() = default;

  int pieces() const { return static_cast<int>(ends_.size()); }
  // The end of the k-th piece, from 1 to K.
  const TimeLaw& end_of(int k) const { return ends_[static_cast<std::size_t>(k) - 1]; }
  const TimeLaw& end() const { return ends_.back(); }

  // w -> P(not all pieces are done at t, and that under way ends after w), for w >= t. A piece that ends at t
  // is followed by another.
  virtual Function late_after(double t) const = 0;
  // Where late_after(t) jumps or bends, and places between.
  virtual std::vector<double> corners_after(double t) const = 0;

  // The worker goes on after a piece that ends at s with the probability goes_on(s), which has these corners.
  // Pieces that end while it goes on:
  double pieces_done(const Function& goes_on, const std::vector<double>& corners) const;
  // and seconds of computing, if it completes all that it begins.
  virtual double seconds_begun(const Function& goes_on, const std::vector<double>& corners) const = 0;

 protected:
  explicit PieceClock(std::vector<TimeLaw> ends) : ends_(std::move(ends)) {}

 private:
  std::vector<TimeLaw> ends_;
};

std::unique_ptr<PieceClock> make_piece_clock(const cluster::Jitter& jitter, int pieces, bool factor_by_piece);

}  // namespace starling::analysis
