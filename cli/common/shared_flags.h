// The flags that several commands have: each is declared once, so that its name, its help and what it takes
// are the same everywhere. Defaults differ; a command shows its own with default_str.
#pragma once

#include "cli/common/flag.h"
#include "starling/optim/rate_scale.h"
#include "starling/record/record_plan.h"

namespace starling::cli {

inline constexpr long long kMostSteps = 1'000'000'000;
inline constexpr long long kLargestBatch = 1'000'000;
inline constexpr double kLarge = 1e12;
inline constexpr const char* kTrustDefault = "0.001";
inline constexpr const char* kOnLossDefault = "STARLING_ON_LOSS, or go-on";

struct SharedFlags {
  Flag<std::string> strategy;

  // Workers.
  Flag<long long> workers;
  Flag<std::string> jitter, jitter_span;
  Flag<std::string> slow, pause, kill;
  Flag<bool> on_loss;  // whether it ends the run
  Flag<Duration> step_time;
  Flag<transport::Link> link;

  // Learning.
  Flag<std::uint64_t> batch;
  Flag<std::string> optimizer;
  Flag<double> lr, momentum, weight_decay, trust, clip_norm;
  Flag<optim::RateScale> scale_lr;
  Flag<bool> exclude;  // whether vectors are excluded
  Switch nesterov;
  Flag<std::string> nonfinite;

  // The run, its end and its files.
  Flag<std::uint64_t> steps;
  Flag<double> max_seconds;
  Flag<double> target_loss, target_accuracy;
  Flag<std::uint64_t> seed;
  Flag<std::vector<std::uint64_t>> seeds;
  Flag<std::uint64_t> checkpoint_every;
  Flag<std::string> resume, out, svg;
  Flag<record::RecordPlan> record;
  Switch force, json;
};

const SharedFlags& shared_flags();

}  // namespace starling::cli
