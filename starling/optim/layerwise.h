// Optimisers that scale the learning rate of each tensor by a ratio of two norms: its own, and that of the
// direction in which it is to move. A tensor that is excluded, or one of whose norms is 0, has a ratio of 1.
//
// A norm is that of a whole tensor. apply() finds it where its part has whole tensors only. Whoever updates
// pieces of tensors sums up squares over all pieces first (Optimizer::add_squares).
#pragma once

#include "starling/optim/optimizer.h"

namespace starling::optim {

class LayerwiseOptimizer : public Optimizer {
 public:
  void apply(Slice part, std::span<float> x, std::span<const float> gradient) final;

  std::size_t squares() const final { return 2 * tensors_.size(); }
  void add_squares(Slice part, std::span<const float> x, std::span<const float> gradient,
                   std::span<double> sums) const final;
  void set_squares(std::span<const double> sums) final;

  void set_learning_rate(double rate) final;
  double learning_rate() const final { return spec_.learning_rate; }

 protected:
  // InvalidArgument unless the tensors cover the elements.
  LayerwiseOptimizer(const OptimizerSpec& spec, std::size_t count, Tensors tensors);

  const OptimizerSpec& spec() const { return spec_; }
  void begin_step() {
    scale_ = 1;
    squares_.clear();
  }

 private:
  // The rate and the weight decay of a tensor in this step.
  struct Terms {
    float rate = 0;
    float decay = 0;
  };

  // Of the direction, before the ratio scales it.
  virtual double squares_of_direction(Slice part, std::span<const float> x,
                                      std::span<const float> gradient) const = 0;
  // Of norms that are not 0.
  virtual double ratio(double weights, double direction) const = 0;
  virtual void move(Slice part, float rate, float decay, std::span<float> x,
                    std::span<const float> gradient) = 0;

  Slice tensors_in(Slice part) const;
  void check_whole(Slice part, Slice tensors) const;
  Terms terms(std::size_t tensor, std::span<const double> sums) const;

  OptimizerSpec spec_;
  std::size_t count_;
  Tensors tensors_;
  std::vector<double> squares_;  // that were set for this step; by tensor, those of the weights first
  std::vector<double> own_;      // the same, while a part is applied
};

}  // namespace starling::optim
