// An optimiser of LibTorch that updates a replica, as a whole or some sections at a time, some of them when
// the program computes the next step already.
//
// LibTorch's optimisers (SGD, Adam, AdamW, Adagrad, RMSprop) keep their state, step counts included, by
// parameter, and skip parameters without gradient. So the steps of the parts together are a step of the
// whole.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "starling/core/partition.h"
#include "starling/torch/replica.h"

namespace starling::torch {

class SectionOptimizer {
 public:
  // Both must outlive it. With a clip norm the gradient of a step is scaled down to it (0: never).
  SectionOptimizer(::torch::optim::Optimizer& optimizer, Replica& replica, double clip_norm)
      : optimizer_(optimizer), replica_(replica), clip_norm_(clip_norm) {}

  // A batch of this step is computed: its updates have the learning rates of this moment, whatever the
  // program has set when they are made. They are made before the next step's; some may be made after that is
  // computed.
  void latch(std::uint64_t step);
  // Updates whole sections, with the gradients of the step of this number. The parts of a step follow one
  // another and do not overlap; if gradients are clipped, all have arrived when the first comes. Error if the
  // optimiser has other parameters with gradients and this is not the whole model: their turn is unknown.
  void update(Slice part, std::uint64_t step);

 private:
  struct Rates {
    std::uint64_t step = 0;
    std::vector<double> values;  // by parameter group
  };

  std::vector<double> exchange_rates(const std::vector<double>& rates);
  void begin(Slice part);

  ::torch::optim::Optimizer& optimizer_;
  Replica& replica_;
  double clip_norm_;
  Rates last_, before_;     // of the step that was latched last, and of the one before
  std::uint64_t step_ = 0;  // whose updates began last
};

}  // namespace starling::torch
