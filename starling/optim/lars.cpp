#include "starling/optim/lars.h"

#include <utility>

namespace starling::optim {

Lars::Lars(const OptimizerSpec& spec, std::size_t count, Tensors tensors)
    : LayerwiseOptimizer(spec, count, std::move(tensors)), momentum_(spec.momentum != 0 ? count : 0) {}

double Lars::squares_of_direction(Slice part, std::span<const float>, std::span<const float> gradient) const {
  double sum = 0;
  for (std::size_t i = part.begin; i < part.end; ++i) {
    const float g = scale_ * gradient[i];
    sum += static_cast<double>(g) * g;
  }
  return sum;
}

double Lars::ratio(double weights, double direction) const {
  return spec().trust * weights / (direction + spec().weight_decay * weights);
}

// A decay of 0 is left out: 0 times an infinite weight would be NaN.
void Lars::move(Slice part, float rate, float decay, std::span<float> x, std::span<const float> gradient) {
  const auto momentum = static_cast<float>(spec().momentum);
  const bool nesterov = spec().nesterov;
  float* const velocity = momentum == 0 ? nullptr : momentum_.span().data();
  for (std::size_t i = part.begin; i < part.end; ++i) {
    const float g = scale_ * gradient[i];
    const float step = rate * (decay != 0 ? g + decay * x[i] : g);
    if (velocity == nullptr) {
      x[i] -= step;
      continue;
    }
    const float v = momentum * velocity[i] + step;
    velocity[i] = v;
    x[i] -= nesterov ? momentum * v + step : v;
  }
}

std::vector<std::span<float>> Lars::state() {
  if (spec().momentum == 0) return {};
  return {momentum_.span()};
}

}  // namespace starling::optim
