#include "starling/torch/section_optimizer.h"

#include <algorithm>
#include <utility>

#include "starling/core/error.h"
#include "starling/optim/optimizer.h"

namespace starling::torch {

void SectionOptimizer::latch(std::uint64_t step) {
  if (step != last_.step) before_ = std::move(last_);
  last_ = {step, {}};
  for (const auto& group : optimizer_.param_groups()) last_.values.push_back(group.options().get_lr());
}

void SectionOptimizer::update(Slice part, std::uint64_t step) {
  if (step != step_) begin(part);
  step_ = step;
  const std::vector<double> now = exchange_rates(step == before_.step ? before_.values : last_.values);
  replica_.with_gradients_of(part, [this] { optimizer_.step(); });
  exchange_rates(now);
}

// Groups that were added since keep theirs.
std::vector<double> SectionOptimizer::exchange_rates(const std::vector<double>& rates) {
  std::vector<double> before;
  auto& groups = optimizer_.param_groups();
  for (std::size_t i = 0; i < std::min(groups.size(), rates.size()); ++i) {
    before.push_back(groups[i].options().get_lr());
    groups[i].options().set_lr(rates[i]);
  }
  return before;
}

void SectionOptimizer::begin(Slice part) {
  for (const auto& group : optimizer_.param_groups()) {
    if (part.size() == replica_.size()) break;
    for (const ::torch::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined() || replica_.holds(parameter)) continue;
      throw Error(
          "the optimiser has a parameter with a gradient that is not the model's, which a strategy that "
          "updates the model in parts cannot update; allowed: the model's own");
    }
  }
  if (!(clip_norm_ > 0)) return;
  const std::span<float> gradients = replica_.flat_gradients();
  const auto scale = static_cast<float>(optim::clip_scale(clip_norm_, optim::norm_of(gradients)));
  if (scale == 1) return;
  for (float& element : gradients) element *= scale;
}

}  // namespace starling::torch
