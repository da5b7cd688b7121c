// The results of `starling bench train`: rows of a table for people, and JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace starling::cli {

struct TrainRow {
  std::string system;  // "plain", "ddp", "starling"
  std::string strategy;
  std::vector<double> slow;     // by worker
  std::vector<double> rates;    // samples per second, by round
  std::optional<double> limit;  // the speeds of its workers, summed, in samples per second
  std::optional<double> ddp;    // what DDP does with the same workers

  std::optional<double> rate() const;  // the median; none if no round was measured
  std::optional<double> vs_ddp() const;
  std::optional<double> efficiency() const;
};

std::string train_header();
std::string line_of(const TrainRow& row);
// What is not known is null.
nlohmann::ordered_json to_json(const TrainRow& row);

}  // namespace starling::cli
