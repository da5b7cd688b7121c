// LARS (You, Gitman and Ginsburg, "Large batch training of convolutional networks", 2017, algorithm 1), in
// the form of the paper, of MLPerf's reference and of APEX: the learning rate is inside the momentum. For
// each tensor, with 2-norms:
//   ratio = trust * |x| / (|g| + weight_decay * |x|)
//   v = momentum * v + learning_rate * ratio * (g + weight_decay * x)
//   x = x - (v, or momentum * v + learning_rate * ratio * (g + weight_decay * x) with nesterov)
// Others (timm, Bolts) keep the rate outside of the momentum, which is the same while it is constant.
#pragma once

#include "starling/optim/layerwise.h"
#include "starling/optim/state_vector.h"

namespace starling::optim {

class Lars final : public LayerwiseOptimizer {
 public:
  Lars(const OptimizerSpec& spec, std::size_t count, Tensors tensors);

  void advance() override {
    ++steps_;
    begin_step();
  }

  // The momentum; nothing without momentum.
  std::vector<std::span<float>> state() override;

  std::uint64_t steps() const override { return steps_; }
  void set_steps(std::uint64_t steps) override { steps_ = steps; }

 private:
  double squares_of_direction(Slice part, std::span<const float> x,
                              std::span<const float> gradient) const override;
  double ratio(double weights, double direction) const override;
  void move(Slice part, float rate, float decay, std::span<float> x,
            std::span<const float> gradient) override;

  StateVector momentum_;
  std::uint64_t steps_ = 0;
};

}  // namespace starling::optim
