#include "starling/optim/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "starling/core/error.h"
#include "starling/optim/adam.h"
#include "starling/optim/check.h"
#include "starling/optim/lamb.h"
#include "starling/optim/lars.h"
#include "starling/optim/sgd.h"

namespace starling::optim {
namespace {

using OptimizerKind = OptimizerSpec::Kind;

constexpr std::array<std::pair<OptimizerKind, std::string_view>, 5> kOptimizerNames = {
    {{OptimizerKind::kSgd, "sgd"},
     {OptimizerKind::kAdam, "adam"},
     {OptimizerKind::kAdamW, "adamw"},
     {OptimizerKind::kLars, "lars"},
     {OptimizerKind::kLamb, "lamb"}}};

void check_beta(std::string_view what, double value) {
  // Written so that NaN fails it.
  if (value >= 0 && value < 1) return;
  throw InvalidArgument(concat(what, " is ", value, "; allowed: at least 0 and below 1"));
}

void check_momentum(const OptimizerSpec& spec) {
  const double dampening = spec.kind == OptimizerKind::kSgd ? spec.dampening : 0;
  check_not_negative("momentum", spec.momentum);
  if (!std::isfinite(dampening)) {
    throw InvalidArgument(concat("dampening is ", dampening, "; allowed: a finite number"));
  }
  if (spec.nesterov && (spec.momentum == 0 || dampening != 0)) {
    throw InvalidArgument(concat("nesterov with momentum ", spec.momentum, " and dampening ", dampening,
                                 "; allowed: momentum above 0 and dampening 0"));
  }
}

void check_adam(const OptimizerSpec& spec) {
  check_beta("beta1", spec.beta1);
  check_beta("beta2", spec.beta2);
  check_not_negative("epsilon", spec.epsilon);
}

}  // namespace

std::string_view name_of(OptimizerKind kind) {
  for (const auto& [known, name] : kOptimizerNames) {
    if (known == kind) return name;
  }
  return "?";
}

OptimizerKind parse_optimizer(std::string_view text, std::string_view what) {
  std::vector<std::string_view> names;
  for (const auto& [kind, name] : kOptimizerNames) {
    if (name == text) return kind;
    names.push_back(name);
  }
  throw InvalidArgument(concat(what, ": unknown optimizer '", text, "'; allowed: ", join_texts(names)));
}

void check_not_negative(std::string_view what, double value) {
  if (std::isfinite(value) && value >= 0) return;
  throw InvalidArgument(concat(what, " is ", value, "; allowed: a finite number, 0 or more"));
}

void check_apply(Slice part, std::size_t count, std::span<const float> x, std::span<const float> gradient,
                 std::uint64_t steps) {
  if (x.size() != count || gradient.size() != count) {
    throw InvalidArgument(concat("an optimizer for ", count, " elements was given ", x.size(),
                                 " values and a gradient of ", gradient.size()));
  }
  if (part.begin > part.end || part.end > count) {
    throw InvalidArgument(
        concat("part [", part.begin, ", ", part.end, ") is not within the ", count, " elements"));
  }
  if (steps == 0) throw InvalidArgument("an optimizer was applied before its first advance()");
}

void check(const OptimizerSpec& spec) {
  check_not_negative("learning rate", spec.learning_rate);
  check_not_negative("weight decay", spec.weight_decay);
  check_not_negative("clip norm", spec.clip_norm);
  const bool lars = spec.kind == OptimizerKind::kLars;
  if (lars) check_not_negative("trust coefficient", spec.trust);
  if (lars || spec.kind == OptimizerKind::kSgd) {
    check_momentum(spec);
  } else {
    check_adam(spec);
  }
}

double norm_of(std::span<const float> gradient) {
  double sum = 0;
  for (const float element : gradient) sum += static_cast<double>(element) * element;
  return std::sqrt(sum);
}

double clip_scale(double clip_norm, double norm) {
  constexpr double kTiny = 1e-6;  // a gradient of 0 stays one
  return std::min(1.0, clip_norm / (norm + kTiny));
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerSpec& spec, std::size_t count, Tensors tensors) {
  if (spec.kind == OptimizerKind::kSgd) return std::make_unique<Sgd>(spec, count);
  if (spec.kind == OptimizerKind::kLars) return std::make_unique<Lars>(spec, count, std::move(tensors));
  if (spec.kind == OptimizerKind::kLamb) return std::make_unique<Lamb>(spec, count, std::move(tensors));
  return std::make_unique<Adam>(spec, count);
}

}  // namespace starling::optim
