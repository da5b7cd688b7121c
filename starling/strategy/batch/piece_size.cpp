#include "starling/strategy/batch/piece_size.h"

#include <algorithm>
#include <cmath>

namespace starling::strategy {

namespace {

constexpr double kFade = 0.98;               // of a pass, with each later one
constexpr double kWeightOfStep = 0.2;        // of a step
constexpr double kRarely = 0.01;             // a worker may always become late
constexpr double kLeastOverhead = 0.001;     // of a batch: less cannot be measured
constexpr double kShort = 0.7, kLong = 1.4;  // lengths of passes, by turns
constexpr std::uint64_t kFirstSteps = 6;     // with many passes, to measure them,
constexpr std::uint64_t kTrialEvery = 16;    // and one step every so often

void fade(double& sum, double last) { sum = sum * kFade + last; }

}  // namespace

void PieceSize::step_begins(Time now) {
  ++steps_;
  passes_.clear();
  done_before_ = 0;
  pass_begun_ = now;
}

int PieceSize::next_pass(Time now, int done) {
  if (done > 0) pass_ends(now, done);
  pass_begun_ = now;
  done_before_ = done;
  const double length = wanted() * (++begun_ % 2 == 0 ? kShort : kLong);
  return static_cast<int>(std::clamp(std::round(length), 1.0, static_cast<double>(pieces_)));
}

void PieceSize::pass_ends(Time now, int done) {
  if (done > done_before_) {
    passes_.push_back({static_cast<double>(done - done_before_), seconds_of(now - pass_begun_)});
  }
}

// The first step is slower than others, for reasons of its own.
void PieceSize::step_ends(Time now, int done, bool late) {
  pass_ends(now, done);
  late_ += kWeightOfStep * ((late ? 1 : 0) - late_);
  pieces_done_ = pieces_done_ == 0 ? done : pieces_done_ + kWeightOfStep * (done - pieces_done_);
  if (steps_ > 1 && !passes_.empty()) learn();
}

void PieceSize::learn() {
  double pieces = 0, seconds = 0;
  for (const Pass& pass : passes_) {
    pieces += pass.pieces;
    seconds += pass.seconds;
  }
  const double piece = seconds / (pieces + overhead() * static_cast<double>(passes_.size()));
  if (passes_.size() > 1) {
    for (const Pass& pass : passes_) {
      const double relative = pass.seconds / piece;
      fade(count_, 1);
      fade(sum_g_, pass.pieces);
      fade(sum_t_, relative);
      fade(sum_gg_, pass.pieces * pass.pieces);
      fade(sum_gt_, pass.pieces * relative);
    }
  }
  piece_seconds_ = piece_seconds_ == 0 ? piece : piece_seconds_ + kWeightOfStep * (piece - piece_seconds_);
}

// Of the line t = c (a / b + g).
double PieceSize::overhead() const {
  const double spread = count_ * sum_gg_ - sum_g_ * sum_g_;
  if (spread <= 1e-6 * count_ * sum_gg_) return 0;
  const double slope = (count_ * sum_gt_ - sum_g_ * sum_t_) / spread;
  const double intercept = (sum_t_ - slope * sum_g_) / count_;
  if (slope <= 0) return pieces_;
  return std::clamp(intercept / slope, 0.0, static_cast<double>(pieces_));
}

int PieceSize::fitting(double seconds) const {
  if (piece_seconds_ <= 0) return pieces_;
  const double fitting = seconds / piece_seconds_ - overhead();
  return static_cast<int>(std::clamp(fitting, 1.0, static_cast<double>(pieces_)));
}

double PieceSize::best() const {
  const double relative = std::max(overhead(), kLeastOverhead * pieces_);
  return std::sqrt(2 * relative * std::max(pieces_done_, 1.0) / std::max(late_, kRarely));
}

double PieceSize::wanted() const {
  if (steps_ <= kFirstSteps) return pieces_ / 8.0;
  return steps_ % kTrialEvery == 0 ? std::min(best() / 2, pieces_ / 4.0) : best();
}

}  // namespace starling::strategy
