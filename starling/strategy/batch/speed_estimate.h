// The time that a worker needs for a sample, from its last steps.
//
// The estimate is the mean over a window, which grows while the speed stays what it is. A change is noticed
// after three steps: when all of them are off the estimate, on the same side, by more than the scatter of the
// window explains. Then the window begins anew, with these three.
#pragma once

#include <cstdint>

namespace starling::strategy {

// Plain data, so that it can be part of checkpoints.
class SpeedEstimate {
 public:
  // A step with samples has taken so long.
  void add(double seconds, double samples);
  bool known() const { return steps_ > 0; }
  // Of a sample. 0: not known yet.
  double seconds() const { return samples_ > 0 ? seconds_ / samples_ : 0; }

 private:
  static constexpr std::uint64_t kRecent = 3;
  struct Step {
    double seconds = 0, samples = 0;
  };

  bool has_changed() const;
  void count(const Step& step);

  std::uint64_t steps_ = 0;
  Step recent_[kRecent];
  // Of the window; older steps fade.
  double seconds_ = 0, samples_ = 0, count_ = 0;
  double squares_ = 0;  // of the relative differences from the estimate
};

}  // namespace starling::strategy
