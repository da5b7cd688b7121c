#include "cli/bench/bench_train_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/bench/bench_table.h"

namespace starling::cli {
namespace {

// "1:4,3:2", "-" if all are equal
std::string slow_text(const std::vector<double>& slow) {
  std::string text;
  for (std::size_t i = 0; i < slow.size(); ++i) {
    if (slow[i] != 1) text += fmt::format("{}{}:{}", text.empty() ? "" : ",", i, slow[i]);
  }
  return text.empty() ? "-" : text;
}

std::string text_of(std::optional<double> value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::optional<double> quotient(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::optional(*a / *b) : std::nullopt;
}

}  // namespace

std::optional<double> TrainRow::rate() const {
  if (rates.empty()) return std::nullopt;
  std::vector<double> sorted = rates;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

std::optional<double> TrainRow::spread() const {
  if (rates.empty()) return std::nullopt;
  const auto [slowest, fastest] = std::minmax_element(rates.begin(), rates.end());
  return quotient(*fastest - *slowest, rate());
}

std::optional<double> TrainRow::vs_ddp() const { return quotient(rate(), ddp); }

std::optional<double> TrainRow::efficiency() const { return quotient(rate(), limit); }

std::optional<std::string> contradiction(const TrainRow& row) {
  const std::optional<double> efficiency = row.efficiency();
  if (!efficiency || *efficiency <= kMostEfficiency) return std::nullopt;
  return fmt::format(
      "{}{} with {} workers cannot make {:.0f} samples/s: that is {:.2f} of the {:.0f} that as many plain "
      "loops "
      "make at the same time, and more than {} is impossible; the measurement is wrong or the machine was "
      "not "
      "quiet",
      row.system, row.strategy == "-" ? "" : " " + row.strategy, row.slow.size(), *row.rate(), *efficiency,
      *row.limit, kMostEfficiency);
}

std::string train_header() {
  return fmt::format("{:<10}{:<24}{:>8}  {:<10}{:>10}{:>8}{:>8}{:>12}", "system", "strategy", "workers",
                     "slow", "samples/s", "spread", "vs ddp", "efficiency");
}

std::string line_of(const TrainRow& row) {
  const std::optional<double> spread = row.spread();
  return fmt::format("{:<10}{:<24}{:>8}  {:<10}{:>10}{:>8}{:>8}{:>12}", row.system, row.strategy,
                     row.slow.size(), slow_text(row.slow), text_of(row.rate(), 0),
                     spread ? fmt::format("{:.0f} %", *spread * 100) : "-", text_of(row.vs_ddp(), 2),
                     text_of(row.efficiency(), 2));
}

nlohmann::ordered_json to_json(const TrainRow& row) {
  nlohmann::ordered_json json;
  json["system"] = row.system;
  json["strategy"] = row.strategy;
  json["workers"] = row.slow.size();
  json["slow"] = row.slow;
  json["samples_per_second"] = number_or_null(row.rate());
  json["rounds"] = row.rates;
  json["spread"] = number_or_null(row.spread());
  json["vs_ddp"] = number_or_null(row.vs_ddp());
  json["efficiency"] = number_or_null(row.efficiency());
  json["possible"] = !contradiction(row);
  return json;
}

}  // namespace starling::cli
