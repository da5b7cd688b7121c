// The division of the global batch among workers of unequal speed.
#pragma once

#include <vector>

#include "starling/core/types.h"
#include "starling/strategy/batch/portion.h"

namespace starling::strategy {

class Member;

// How many of `total` samples each worker gets, with these seconds per sample (0: it gets none) and limits.
// Whole numbers, whose sum is `total` unless all are at their limits.
std::vector<double> divide_batch(const std::vector<double>& seconds, const std::vector<double>& most,
                                 double total);

// The part of each worker. It changes when one of them is off by more than a few percent, so that jitter does
// not move the parts all the time.
class BatchParts {
 public:
  // `most`: the largest parts, in samples, by worker; 0: any number.
  BatchParts(int workers, std::vector<double> most);
  // As a part of checkpoints.
  void keep_with(Member& member);

  bool known() const { return total_ > 0; }
  // Equal ones until they are known.
  Portion of(Rank worker) const;
  // After a step in which all workers together had so many samples. `seconds` of a sample, by worker; 0: it
  // is lost; below 0: it does not know.
  void divide(const std::vector<double>& seconds, double samples);

 private:
  std::vector<double> most_;
  double total_ = 0;           // samples of the global batch
  std::vector<double> parts_;  // samples, by worker
};

}  // namespace starling::strategy
