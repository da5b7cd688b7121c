// The outer optimiser of local SGD: the way from the model that all workers had in common to the mean of what
// they have made of it is taken for a gradient, and makes a step with a momentum of its own. With T the
// common model, x the mean and D = T - x:
//
//   SlowMo    u <- b u + D / g;  T <- T - a g u        (Wang et al., "SlowMo", ICLR'20; g: the inner rate)
//   Nesterov  m <- b m + D;      T <- T - a (D + b m)  (DiLoCo: Douillard et al., 2023)
//
// Both are SGD with momentum b. All workers make the same step from the same mean, so the common model is the
// same on all. It and the momentum take 2 M of memory besides.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "starling/strategy/options.h"
#include "starling/strategy/worker.h"

namespace starling::strategy {

struct OuterRule {
  enum class Kind { kSlowMo, kNesterov };
  Kind kind = Kind::kNesterov;
  double rate = 0;      // a
  double momentum = 0;  // b
};

// The options "outer", "outer-lr" and "outer-momentum", and what they say: none for "outer=none".
std::vector<OptionSpec> outer_options();
std::optional<OuterRule> outer_rule(const Options& options);

// For a part of the model.
class OuterOptimizer {
 public:
  // The worker must outlive it. Its state is part of checkpoints; `name` distinguishes it from others'.
  OuterOptimizer(Worker& self, const OuterRule& rule, Slice part, const std::string& name);

  // Makes a step of the common model. `mean` is that of all workers' parts, and is overwritten.
  void step(Data mean);
  // The worker's part becomes (1 - mix) of the common model's and `mix` of what it is.
  void pull(double mix);
  // The model that all workers have in common.
  Data common() const { return common_.data; }

 private:
  Worker& self_;
  OuterRule rule_;
  Slice part_;
  Buffer common_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::uint64_t steps_ = 0;
};

}  // namespace starling::strategy
