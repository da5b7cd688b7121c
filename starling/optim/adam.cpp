#include "starling/optim/adam.h"

#include <cmath>

#include "starling/optim/check.h"

namespace starling::optim {

Adam::Adam(const OptimizerSpec& spec, std::size_t count)
    : Optimizer(spec.clip_norm), spec_(spec), moments_(spec.beta1, spec.beta2, count) {
  check(spec);
}

void Adam::advance() {
  moments_.advance();
  scale_ = 1;
}

void Adam::apply(Slice part, std::span<float> x, std::span<const float> gradient) {
  check_apply(part, moments_.size(), x, gradient, steps());
  const bool decoupled = spec_.kind == OptimizerSpec::Kind::kAdamW;
  const auto decay = static_cast<float>(spec_.weight_decay);
  const auto shrink = static_cast<float>(1 - spec_.learning_rate * spec_.weight_decay);
  const auto correction2 = static_cast<float>(std::sqrt(moments_.correction2()));
  const auto epsilon = static_cast<float>(spec_.epsilon);
  const auto rate = static_cast<float>(spec_.learning_rate / moments_.correction1());
  Moments::Rule rule(moments_);
  for (std::size_t i = part.begin; i < part.end; ++i) {
    float g = scale_ * gradient[i];
    if (decay != 0 && decoupled) x[i] *= shrink;
    if (decay != 0 && !decoupled) g += decay * x[i];
    const Moments::Pair moments = rule.store(i, g);
    const float scale = std::sqrt(moments.second) / correction2 + epsilon;
    x[i] -= rate * moments.first / scale;
  }
}

void Adam::set_learning_rate(double rate) {
  check_not_negative("learning rate", rate);
  spec_.learning_rate = rate;
}

}  // namespace starling::optim
