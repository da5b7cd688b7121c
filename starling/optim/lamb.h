// LAMB (You et al., "Large batch optimization for deep learning: training BERT in 76 minutes", 2020,
// algorithm 2), with the bias correction of the paper and without a bound on |x|. In step t, for each tensor,
// with 2-norms:
//   m, v as in moments.h
//   r = m / (1 - beta1^t) / (sqrt(v) / sqrt(1 - beta2^t) + epsilon) + weight_decay * x
//   x = x - learning_rate * |x| / |r| * r
#pragma once

#include "starling/optim/layerwise.h"
#include "starling/optim/moments.h"

namespace starling::optim {

class Lamb final : public LayerwiseOptimizer {
 public:
  Lamb(const OptimizerSpec& spec, std::size_t count, Tensors tensors);

  void advance() override {
    moments_.advance();
    begin_step();
  }

  // m, v.
  std::vector<std::span<float>> state() override { return moments_.state(); }

  std::uint64_t steps() const override { return moments_.steps(); }
  void set_steps(std::uint64_t steps) override { moments_.set_steps(steps); }

 private:
  class Direction;

  double squares_of_direction(Slice part, std::span<const float> x,
                              std::span<const float> gradient) const override;
  double ratio(double weights, double direction) const override { return weights / direction; }
  void move(Slice part, float rate, float decay, std::span<float> x,
            std::span<const float> gradient) override;

  Moments moments_;
};

}  // namespace starling::optim
