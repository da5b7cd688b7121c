#include "starling/optim/lamb.h"

#include <cmath>
#include <utility>

namespace starling::optim {

// r of an element from its moments. A decay of 0 is left out: 0 times an infinite weight would be NaN.
class Lamb::Direction {
 public:
  Direction(const Moments& moments, double epsilon, float decay)
      : correction1_(static_cast<float>(moments.correction1())),
        correction2_(static_cast<float>(std::sqrt(moments.correction2()))),
        epsilon_(static_cast<float>(epsilon)),
        decay_(decay) {}

  float at(Moments::Pair moments, float x) const {
    const float r = moments.first / correction1_ / (std::sqrt(moments.second) / correction2_ + epsilon_);
    return decay_ != 0 ? r + decay_ * x : r;
  }

 private:
  float correction1_, correction2_, epsilon_, decay_;
};

Lamb::Lamb(const OptimizerSpec& spec, std::size_t count, Tensors tensors)
    : LayerwiseOptimizer(spec, count, std::move(tensors)), moments_(spec.beta1, spec.beta2, count) {}

// The moments stay as they are until move(), so that the norm may be asked for more than once.
double Lamb::squares_of_direction(Slice part, std::span<const float> x,
                                  std::span<const float> gradient) const {
  const Direction direction(moments_, spec().epsilon, static_cast<float>(spec().weight_decay));
  const Moments::Rule rule(moments_);
  double sum = 0;
  for (std::size_t i = part.begin; i < part.end; ++i) {
    const float r = direction.at(rule.after(i, scale_ * gradient[i]), x[i]);
    sum += static_cast<double>(r) * r;
  }
  return sum;
}

void Lamb::move(Slice part, float rate, float decay, std::span<float> x, std::span<const float> gradient) {
  const Direction direction(moments_, spec().epsilon, decay);
  Moments::Rule rule(moments_);
  for (std::size_t i = part.begin; i < part.end; ++i) {
    x[i] -= rate * direction.at(rule.store(i, scale_ * gradient[i]), x[i]);
  }
}

}  // namespace starling::optim
