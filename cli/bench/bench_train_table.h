// The results of `starling bench train`: rows of a table for people, and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace starling::cli {

// More than this part of what the plain loops do is beyond measurement noise: it cannot be.
inline constexpr double kMostEfficiency = 1.1;

struct TrainRow {
  std::string system;  // "plain", "ddp", "starling"
  std::string strategy;
  std::vector<double> slow;     // by worker
  std::vector<double> rates;    // samples per second, by round
  std::optional<double> limit;  // what as many plain loops do at the same time, in samples per second
  std::optional<double> ddp;    // what DDP does with the same workers

  std::optional<double> rate() const;    // the median; none if no round was measured
  std::optional<double> spread() const;  // from the slowest round to the fastest, as a part of the median
  std::optional<double> vs_ddp() const;
  std::optional<double> efficiency() const;
};

// Why the result cannot be true; none if it can. No system computes gradients faster than loops that do
// nothing else on the same cores.
std::optional<std::string> contradiction(const TrainRow& row);

std::string train_header();
std::string line_of(const TrainRow& row);
// Unknown values are null.
nlohmann::ordered_json to_json(const TrainRow& row);

}  // namespace starling::cli
