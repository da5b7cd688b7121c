// The flags of the optimiser, which `train` and `simulate` have, and what they make of it.
#pragma once

#include <optional>
#include <string>

#include "cli/common/flag.h"
#include "starling/optim/optimizer.h"
#include "starling/optim/rate_scale.h"

namespace starling::cli {

// As given: each value is checked for itself.
struct OptimizerFlags {
  std::optional<std::string> kind;
  Given<double> lr, momentum, weight_decay, trust, clip_norm;
  Given<optim::RateScale> scale_lr;
  Given<bool> exclude_vectors;
  bool nesterov = false;
};

// The learning rate of one worker, and how it grew with the workers.
struct RateOfWorkers {
  optim::RateScale scale = optim::RateScale::kNone;
  double of_one = 0;
};

// A command's own.
struct OptimizerDefaults {
  optim::OptimizerSpec::Kind kind = optim::OptimizerSpec::Kind::kSgd;
  double momentum = 0;  // of kinds that have one
};

optim::OptimizerSpec::Kind optimizer_kind(const OptimizerFlags& flags, optim::OptimizerSpec::Kind fallback);
// `lr` unless a flag says otherwise. InvalidArgument for a flag that the kind has no use for.
optim::OptimizerSpec optimizer_of(const OptimizerFlags& flags, const OptimizerDefaults& defaults, double lr);
// Scales the rate for so many workers.
RateOfWorkers scale_rate(const OptimizerFlags& flags, int workers, optim::OptimizerSpec& spec);

}  // namespace starling::cli
