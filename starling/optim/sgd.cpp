#include "starling/optim/sgd.h"

#include "starling/optim/check.h"

namespace starling::optim {
namespace {

// Steps along direction(i, d). A decay of 0 is left out and not multiplied: 0 times an infinite weight would
// be NaN.
template <class Direction>
void descend(const OptimizerSpec& spec, float scale, Slice part, std::span<float> x,
             std::span<const float> gradient, Direction direction) {
  const auto rate = static_cast<float>(spec.learning_rate);
  const auto decay = static_cast<float>(spec.weight_decay);
  const bool decays = spec.weight_decay != 0;
  for (std::size_t i = part.begin; i < part.end; ++i) {
    const float g = scale * gradient[i];
    const float d = decays ? g + decay * x[i] : g;
    x[i] -= rate * direction(i, d);
  }
}

}  // namespace

Sgd::Sgd(const OptimizerSpec& spec, std::size_t count)
    : Optimizer(spec.clip_norm), spec_(spec), count_(count), momentum_(spec.momentum != 0 ? count : 0) {
  check(spec);
}

void Sgd::apply(Slice part, std::span<float> x, std::span<const float> gradient) {
  check_apply(part, count_, x, gradient, steps_);
  if (spec_.momentum == 0) {
    descend(spec_, scale_, part, x, gradient, [](std::size_t, float d) { return d; });
    return;
  }
  const auto momentum = static_cast<float>(spec_.momentum);
  const auto kept = static_cast<float>(1 - spec_.dampening);
  const bool first = steps_ == 1, nesterov = spec_.nesterov;
  float* const buffer = momentum_.span().data();
  descend(spec_, scale_, part, x, gradient, [=](std::size_t i, float d) {
    const float b = first ? d : buffer[i] * momentum + kept * d;
    buffer[i] = b;
    return nesterov ? d + momentum * b : b;
  });
}

void Sgd::set_learning_rate(double rate) {
  check_not_negative("learning rate", rate);
  spec_.learning_rate = rate;
}

std::vector<std::span<float>> Sgd::state() {
  if (spec_.momentum == 0) return {};
  return {momentum_.span()};
}

}  // namespace starling::optim
