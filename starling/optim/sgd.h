// Stochastic gradient descent with momentum, as torch.optim.SGD:
//   d = g + weight_decay * x
//   b = d in the first step, then momentum * b + (1 - dampening) * d
//   x = x - learning_rate * (b, or d + momentum * b with nesterov, or d without momentum)
#pragma once

#include "starling/optim/optimizer.h"
#include "starling/optim/state_vector.h"

namespace starling::optim {

class Sgd : public Optimizer {
 public:
  Sgd(const OptimizerSpec& spec, std::size_t count);

  void advance() override {
    ++steps_;
    scale_ = 1;
  }
  void apply(Slice part, std::span<float> x, std::span<const float> gradient) override;

  void set_learning_rate(double rate) override;
  double learning_rate() const override { return spec_.learning_rate; }

  // The momentum; nothing without momentum.
  std::vector<std::span<float>> state() override;

  std::uint64_t steps() const override { return steps_; }
  void set_steps(std::uint64_t steps) override { steps_ = steps; }

 private:
  OptimizerSpec spec_;
  std::size_t count_;
  StateVector momentum_;
  std::uint64_t steps_ = 0;
};

}  // namespace starling::optim
