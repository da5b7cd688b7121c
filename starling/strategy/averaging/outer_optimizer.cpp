#include "starling/strategy/averaging/outer_optimizer.h"

#include "starling/core/text.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {
namespace {

optim::OptimizerSpec spec_of(const OuterRule& rule) {
  optim::OptimizerSpec spec;
  spec.learning_rate = rule.rate;
  spec.momentum = rule.momentum;
  spec.nesterov = rule.kind == OuterRule::Kind::kNesterov && rule.momentum > 0;
  return spec;
}

}  // namespace

std::vector<OptionSpec> outer_options() {
  return {OptionSpec::choice("outer", {"none", "slowmo", "nesterov"},
                             "an optimiser that makes a step with the mean of all workers' changes; "
                             "nesterov: DiLoCo"),
          OptionSpec::number_or("outer-lr", {"auto"}, 0, 10,
                                "learning rate of the outer optimiser; auto: 1 for slowmo, 0.7 for nesterov")
              .with("outer=slowmo|nesterov"),
          OptionSpec::number_or("outer-momentum", {"auto"}, 0, 0.9999,
                                "momentum of the outer optimiser; auto: 0.5 for slowmo, 0.9 for nesterov")
              .with("outer=slowmo|nesterov")};
}

std::optional<OuterRule> outer_rule(const Options& options) {
  if (options.text("outer") == "none") return {};
  OuterRule rule;
  if (options.text("outer") == "slowmo") rule = {OuterRule::Kind::kSlowMo, 1, 0.5};
  if (options.text("outer") == "nesterov") rule = {OuterRule::Kind::kNesterov, 0.7, 0.9};
  rule.rate = options.number_unless_word("outer-lr").value_or(rule.rate);
  rule.momentum = options.number_unless_word("outer-momentum").value_or(rule.momentum);
  return rule;
}

OuterOptimizer::OuterOptimizer(Worker& self, const OuterRule& rule, Slice part, const std::string& name)
    : self_(self),
      rule_(rule),
      part_(part),
      common_(self.allocate(part.size())),
      optimizer_(optim::make_optimizer(spec_of(rule), common_.data.ghost() ? 0 : part.size())) {
  if (common_.data.ghost()) return;
  const Buffer initial = self.initial_model();
  copy(initial.data.part(part.begin, part.end), common_.data);
  self.keep(concat("outer model ", name), common_.data.span());
  for (const std::span<float> vector : optimizer_->state()) {
    self.keep(concat("outer momentum ", name), std::as_writable_bytes(vector));
  }
  self.keep(concat("outer steps ", name), bytes_of(steps_));
  optimizer_->set_steps(steps_);
}

// With an inner rate of 0 no worker has moved, as at the very end of a cosine: nothing is divided by it.
void OuterOptimizer::step(Data mean) {
  if (mean.ghost()) return;
  const Stopwatch watch(self_, record::Activity::kUpdate);
  const bool slowmo = rule_.kind == OuterRule::Kind::kSlowMo;
  const double inner_rate = slowmo ? self_.learning_rate() : 1;
  const auto scale = static_cast<float>(inner_rate > 0 ? 1 / inner_rate : 0);
  const std::span<float> common = floats(common_.data);
  const std::span<float> change = floats(mean);
  for (std::size_t i = 0; i < common.size(); ++i) change[i] = (common[i] - change[i]) * scale;
  optimizer_->set_learning_rate(rule_.rate * inner_rate);
  optimizer_->step(common, change);
  steps_ = optimizer_->steps();
}

void OuterOptimizer::pull(double mix) {
  if (common_.data.ghost()) return;
  const std::span<float> own = floats(self_.parameters().part(part_.begin, part_.end));
  const std::span<const float> common = floats(common_.data);
  const auto share = static_cast<float>(mix);
  for (std::size_t i = 0; i < own.size(); ++i)
    own[i] = share == 0 ? common[i] : common[i] + share * (own[i] - common[i]);
}

}  // namespace starling::strategy
