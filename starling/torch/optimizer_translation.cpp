#include "starling/torch/optimizer_translation.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <tuple>
#include <typeinfo>

#include "starling/core/error.h"

namespace starling::torch {

namespace {

namespace to = ::torch::optim;
using optim::OptimizerSpec;

// "torch::optim::RMSprop"
std::string name_of(const to::Optimizer& optimizer) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(typeid(optimizer).name(), nullptr, nullptr, &status), std::free);
  return status == 0 ? name.get() : typeid(optimizer).name();
}

[[noreturn]] void refuse(const to::Optimizer& optimizer, std::string_view why) {
  throw InvalidArgument(concat("this strategy makes the update away from the worker, and ",
                               name_of(optimizer), why,
                               "; allowed: SGD, Adam and AdamW with one set of options and without amsgrad"));
}

OptimizerSpec spec_of(const to::SGDOptions& options) {
  OptimizerSpec spec;
  spec.kind = OptimizerSpec::Kind::kSgd;
  spec.learning_rate = options.lr();
  spec.momentum = options.momentum();
  spec.dampening = options.dampening();
  spec.weight_decay = options.weight_decay();
  spec.nesterov = options.nesterov();
  return spec;
}

template <class AdamOptions>
OptimizerSpec spec_of(const to::Optimizer& optimizer, const AdamOptions& options, OptimizerSpec::Kind kind) {
  if (options.amsgrad()) refuse(optimizer, " with amsgrad has no other form");
  OptimizerSpec spec;
  spec.kind = kind;
  spec.learning_rate = options.lr();
  std::tie(spec.beta1, spec.beta2) = options.betas();
  spec.epsilon = options.eps();
  spec.weight_decay = options.weight_decay();
  return spec;
}

OptimizerSpec spec_of(const to::Optimizer& optimizer, const to::OptimizerParamGroup& group) {
  const to::OptimizerOptions& options = group.options();
  if (const auto* const sgd = dynamic_cast<const to::SGDOptions*>(&options)) return spec_of(*sgd);
  if (const auto* const adam = dynamic_cast<const to::AdamOptions*>(&options)) {
    return spec_of(optimizer, *adam, OptimizerSpec::Kind::kAdam);
  }
  if (const auto* const adamw = dynamic_cast<const to::AdamWOptions*>(&options)) {
    return spec_of(optimizer, *adamw, OptimizerSpec::Kind::kAdamW);
  }
  refuse(optimizer, " has no other form");
}

}  // namespace

OptimizerSpec to_flat_optimizer(const to::Optimizer& optimizer) {
  const auto& groups = optimizer.param_groups();
  if (groups.empty()) refuse(optimizer, " has no parameters");
  const OptimizerSpec first = spec_of(optimizer, groups.front());
  for (const to::OptimizerParamGroup& group : groups) {
    if (spec_of(optimizer, group) != first) refuse(optimizer, " has parameter groups with different options");
  }
  return first;
}

double learning_rate(const to::Optimizer& optimizer) {
  const auto& groups = optimizer.param_groups();
  return groups.empty() ? 0 : groups.front().options().get_lr();
}

}  // namespace starling::torch
