// How the workers of a run spend their time: what limits a strategy.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace starling::cli {

// Parts of 1, the mean over the workers.
struct TimeShares {
  double computing = 0;
  double waiting = 0;       // for other workers
  double transferring = 0;  // beside nothing else

  // Updates, and what lies between two steps.
  double rest() const { return 1 - computing - waiting - transferring; }
};

// From the summary of a run.
TimeShares shares_in(const nlohmann::json& summary);
// There must be at least one.
TimeShares mean_of(const std::vector<TimeShares>& all);

// "80 % computing, 5 % waiting for others, 10 % transferring, 5 % updating and the rest"
std::string text_of(const TimeShares& shares);
nlohmann::ordered_json to_json(const TimeShares& shares);

}  // namespace starling::cli
