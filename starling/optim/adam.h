// Adam (Kingma and Ba, 2015) and AdamW, whose weight decay is decoupled (Loshchilov and Hutter, "Decoupled
// weight decay regularization", 2019), as torch.optim.Adam and AdamW. In step t:
//   AdamW: x = x * (1 - learning_rate * weight_decay)
//   Adam:  g = g + weight_decay * x
//   m, v as in moments.h
//   x = x - learning_rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
#pragma once

#include "starling/optim/moments.h"
#include "starling/optim/optimizer.h"

namespace starling::optim {

class Adam : public Optimizer {
 public:
  Adam(const OptimizerSpec& spec, std::size_t count);

  void advance() override;
  void apply(Slice part, std::span<float> x, std::span<const float> gradient) override;

  void set_learning_rate(double rate) override;
  double learning_rate() const override { return spec_.learning_rate; }

  // m, v.
  std::vector<std::span<float>> state() override { return moments_.state(); }

  std::uint64_t steps() const override { return moments_.steps(); }
  void set_steps(std::uint64_t steps) override { moments_.set_steps(steps); }

 private:
  OptimizerSpec spec_;
  Moments moments_;
};

}  // namespace starling::optim
