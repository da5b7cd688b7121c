#include "cli/common/optimizer_flags.h"

#include "starling/core/error.h"

namespace starling::cli {
namespace {

using OptimizerKind = optim::OptimizerSpec::Kind;

constexpr double kLambEpsilon = 1e-6;

template <class Value>
void refuse_unless(bool used, const Given<Value>& value, std::string_view flag, OptimizerKind kind,
                   std::string_view users) {
  if (used || !value) return;
  throw InvalidArgument(
      concat(flag, ": '", value.text(), "'; ", name_of(kind), " has none; allowed with ", users));
}

}  // namespace

optim::OptimizerSpec::Kind optimizer_kind(const OptimizerFlags& flags, OptimizerKind fallback) {
  return flags.kind ? optim::parse_optimizer(*flags.kind, "--optimizer") : fallback;
}

optim::OptimizerSpec optimizer_of(const OptimizerFlags& flags, const OptimizerDefaults& defaults, double lr) {
  optim::OptimizerSpec spec;
  spec.kind = optimizer_kind(flags, defaults.kind);
  const bool lars = spec.kind == OptimizerKind::kLars,
             has_momentum = lars || spec.kind == OptimizerKind::kSgd;
  refuse_unless(has_momentum, flags.momentum, "--momentum", spec.kind, "sgd, lars");
  if (flags.nesterov && !has_momentum) throw InvalidArgument("--nesterov: allowed with sgd, lars");
  refuse_unless(lars, flags.trust, "--trust", spec.kind, "lars");
  refuse_unless(by_tensor(spec.kind), flags.exclude_vectors, "--exclude", spec.kind, "lars, lamb");
  spec.learning_rate = flags.lr.value_or(lr);
  if (has_momentum) spec.momentum = flags.momentum.value_or(defaults.momentum);
  spec.nesterov = flags.nesterov;
  spec.weight_decay = flags.weight_decay.value_or(0);
  spec.trust = flags.trust.value_or(spec.trust);
  spec.exclude_vectors = flags.exclude_vectors.value_or(spec.exclude_vectors);
  spec.clip_norm = flags.clip_norm.value_or(0);
  if (spec.kind == OptimizerKind::kLamb) spec.epsilon = kLambEpsilon;
  optim::check(spec);
  return spec;
}

RateOfWorkers scale_rate(const OptimizerFlags& flags, int workers, optim::OptimizerSpec& spec) {
  const RateOfWorkers rate{flags.scale_lr.value_or(optim::RateScale::kNone), spec.learning_rate};
  spec.learning_rate *= optim::rate_factor(rate.scale, workers);
  return rate;
}

}  // namespace starling::cli
