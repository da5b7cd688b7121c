#include "starling/optim/adam.h"

#include <cmath>

#include "starling/optim/check.h"

namespace starling::optim {
namespace {

// torch.lerp: counts from the nearer end, so that a weight of 1 gives `to` exactly.
float lerp(float from, float to, float weight) {
  return weight < 0.5f ? from + weight * (to - from) : to - (to - from) * (1 - weight);
}

}  // namespace

Adam::Adam(const OptimizerSpec& spec, std::size_t count)
    : Optimizer(spec.clip_norm), spec_(spec), first_(count), second_(count) {
  check(spec);
}

void Adam::advance() {
  ++steps_;
  scale_ = 1;
  beta1_power_ *= spec_.beta1;
  beta2_power_ *= spec_.beta2;
}

void Adam::apply(Slice part, std::span<float> x, std::span<const float> gradient) {
  check_apply(part, first_.span().size(), x, gradient, steps_);
  const bool decoupled = spec_.kind == OptimizerSpec::Kind::kAdamW;
  const auto decay = static_cast<float>(spec_.weight_decay);
  const auto shrink = static_cast<float>(1 - spec_.learning_rate * spec_.weight_decay);
  const auto fresh1 = static_cast<float>(1 - spec_.beta1);
  const auto beta2 = static_cast<float>(spec_.beta2);
  const auto fresh2 = static_cast<float>(1 - spec_.beta2);
  const auto correction2 = static_cast<float>(std::sqrt(1 - beta2_power_));
  const auto epsilon = static_cast<float>(spec_.epsilon);
  const auto rate = static_cast<float>(spec_.learning_rate / (1 - beta1_power_));
  float* const first = first_.span().data();
  float* const second = second_.span().data();
  for (std::size_t i = part.begin; i < part.end; ++i) {
    float g = scale_ * gradient[i];
    if (decay != 0 && decoupled) x[i] *= shrink;
    if (decay != 0 && !decoupled) g += decay * x[i];
    first[i] = lerp(first[i], g, fresh1);
    second[i] = second[i] * beta2 + fresh2 * g * g;
    const float scale = std::sqrt(second[i]) / correction2 + epsilon;
    x[i] -= rate * first[i] / scale;
  }
}

void Adam::set_learning_rate(double rate) {
  check_not_negative("learning rate", rate);
  spec_.learning_rate = rate;
}

// Multiplies as often as advance() would have, for the same bits.
void Adam::set_steps(std::uint64_t steps) {
  steps_ = 0;
  beta1_power_ = beta2_power_ = 1;
  while (steps_ < steps) advance();
}

}  // namespace starling::optim
