// The same simulation with many seeds, side by side on all cores.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/simulate/simulate_plan.h"

namespace starling::cli {

// A number of a run, for every seed that has it.
struct Spread {
  std::string name;
  std::vector<double> values;  // in the order of the seeds

  double mean() const;
  double deviation() const;  // of the sample
  double quantile(double share) const;
};

struct SeedStudy {
  std::vector<Spread> spreads;
  nlohmann::ordered_json summaries;  // one per seed, in their order
  std::size_t diverged = 0;          // how many
  std::string failure;  // of the first seed in which a worker ended otherwise than it should have
};

// `done` is called with the number of finished seeds, by one thread at a time. Throws the error of the first
// seed that fails, with the seed in the text.
SeedStudy study_seeds(
    const SimulatePlan& plan, unsigned threads,
    const std::function<void(std::size_t)>& done = [](std::size_t) {});

std::string study_text(const SeedStudy& study);
nlohmann::ordered_json study_json(const SimulatePlan& plan, const SeedStudy& study);

}  // namespace starling::cli
