// Finds the fusion threshold, the bytes of gradient that are sent as one message, with which steps are
// fastest. Small messages pay their start-up often, large ones begin late; the optimum depends on model,
// machines and network, so it is searched for during the training.
//
// Bayesian optimisation (Jones, Schonlau and Welch, "Efficient Global Optimization of Expensive Black-Box
// Functions", 1998): first the threshold that it starts with, then three in the widest gaps of the range,
// then always the one with the greatest expected improvement. When all trials are made, or at least six and
// there is next to nothing to gain, it settles for the fastest that was seen.
//
// From then on it watches. The normal time is measured anew, over the first steps after settling, because the
// fastest of several noisy trials was also a lucky one. If steps take another time for long, the search
// begins again. A change during those first steps or during a search is not noticed as such.
//
// A pure function of its input: no clock, no threads, no network, the same bits on every processor. The ranks
// of a group need one threshold, so one tuner decides for all.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "starling/tuning/threshold_model.h"

namespace starling::tuning {

struct TunerSetting {
  std::size_t lowest = std::size_t{1} << 20;
  std::size_t highest = std::size_t{256} << 20;
  std::size_t start = std::size_t{25} << 20;
  int trials = 12;      // of one search, at most
  int dropped = 1;      // steps after a change that do not count
  int window = 5;       // steps whose median is a trial's result
  double drift = 0.15;  // by what fraction of the settled time the median of a window may differ from it
  int patience = 20;    // so many steps in a row that differ by more begin a new search
};

class FusionTuner {
 public:
  static constexpr std::size_t kMostTrials = 512;

  // InvalidArgument unless 1 <= lowest <= start <= highest, the counts are positive (`dropped` may be 0),
  // there are at most 64 trials, and drift is positive and finite.
  explicit FusionTuner(const TunerSetting& setting);

  // The threshold to use from the next step on.
  std::size_t threshold() const { return threshold_; }

  // A step that was made with it took so long. True: threshold() has changed. InvalidArgument, and nothing is
  // noted, unless the time is positive and finite.
  bool note(double seconds);

  // The tuner has stopped trying and stays at the fastest threshold of the last search.
  bool settled() const { return settled_; }

  // All trials, in order; those of a new search are appended. If there are more than kMostTrials then, only
  // those of the search before are kept.
  const std::vector<Trial>& trials() const { return trials_; }
  int restarts() const { return restarts_; }

 private:
  std::span<const Trial> search() const { return std::span(trials_).subspan(search_begin_); }
  std::optional<std::size_t> next() const;
  std::optional<std::size_t> widest_gap() const;
  std::optional<std::size_t> most_promising() const;
  bool change_to(std::size_t threshold);
  bool settle();
  void watch();
  void restart();

  TunerSetting setting_;
  std::vector<std::size_t> candidates_;  // ascending
  std::size_t threshold_;
  int to_drop_;
  std::vector<double> recent_;  // seconds of the last steps that count
  std::vector<Trial> trials_;
  std::size_t search_begin_ = 0;  // the first of trials_ that belongs to this search
  bool settled_ = false;
  std::optional<double> settled_seconds_;  // none until measured
  int drifting_ = 0;                       // steps in a row
  int restarts_ = 0;
};

}  // namespace starling::tuning
