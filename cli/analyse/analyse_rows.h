// The rows of `starling analyse`: a strategy, its formula, and how it is simulated.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/analyse/analyse_plan.h"
#include "starling/strategy/registry.h"

namespace starling::cli {

struct AnalysisRow {
  // What is counted as a step.
  enum class Counts {
    kSteps,     // of the workers, who make the same number
    kVersions,  // of the server's model
    kBatches,   // n batches, whoever makes them
  };

  std::string name;
  std::string strategy;
  strategy::OptionTexts options;
  analysis::RunTimes times;  // by formula
  Counts counts = Counts::kSteps;
  int per_version = 0;  // kVersions: gradients that it is made of
  double waits = 1;     // of all workers for an exchange, per step
  int warm_up = 1;      // steps before the time is taken
  int multiple = 1;     // steps are taken in multiples of this
};

std::vector<AnalysisRow> analysis_rows(const AnalysePlan& plan);

}  // namespace starling::cli
