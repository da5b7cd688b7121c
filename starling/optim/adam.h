// Adam (Kingma and Ba, 2015) and AdamW, whose weight decay is decoupled (Loshchilov and Hutter, "Decoupled
// weight decay regularization", 2019), as torch.optim.Adam and AdamW. In step t:
//   AdamW: x = x * (1 - learning_rate * weight_decay)
//   Adam:  g = g + weight_decay * x
//   m = m + (1 - beta1) * (g - m)
//   v = beta2 * v + (1 - beta2) * g^2
//   x = x - learning_rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
#pragma once

#include "starling/optim/optimizer.h"
#include "starling/optim/state_vector.h"

namespace starling::optim {

class Adam : public Optimizer {
 public:
  Adam(const OptimizerSpec& spec, std::size_t count);

  void advance() override;
  void apply(Slice part, std::span<float> x, std::span<const float> gradient) override;

  void set_learning_rate(double rate) override;
  double learning_rate() const override { return spec_.learning_rate; }

  // m, v.
  std::vector<std::span<float>> state() override { return {first_.span(), second_.span()}; }

  std::uint64_t steps() const override { return steps_; }
  void set_steps(std::uint64_t steps) override;

 private:
  OptimizerSpec spec_;
  StateVector first_;
  StateVector second_;
  std::uint64_t steps_ = 0;
  // beta^t by multiplication: libm's pow may differ between machines.
  double beta1_power_ = 1;
  double beta2_power_ = 1;
};

}  // namespace starling::optim
