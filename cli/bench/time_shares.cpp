#include "cli/bench/time_shares.h"

#include <fmt/format.h>

namespace starling::cli {

TimeShares shares_in(const nlohmann::json& summary) {
  const auto mean = [&](const char* key) {
    double sum = 0;
    for (const auto& share : summary.at(key)) sum += share.is_null() ? 0 : share.get<double>();
    return sum / static_cast<double>(summary.at(key).size());
  };
  return {.computing = mean("compute_fraction_per_worker"),
          .waiting = mean("wait_fraction_per_worker"),
          .transferring = mean("transfer_fraction_per_worker")};
}

TimeShares mean_of(const std::vector<TimeShares>& all) {
  TimeShares sum;
  const auto part = 1 / static_cast<double>(all.size());
  for (const TimeShares& shares : all) {
    sum.computing += shares.computing * part;
    sum.waiting += shares.waiting * part;
    sum.transferring += shares.transferring * part;
  }
  return sum;
}

std::string text_of(const TimeShares& shares) {
  return fmt::format(
      "{:.0f} % computing, {:.0f} % waiting for others, {:.0f} % transferring, {:.0f} % updating and the "
      "rest",
      shares.computing * 100, shares.waiting * 100, shares.transferring * 100, shares.rest() * 100);
}

nlohmann::ordered_json to_json(const TimeShares& shares) {
  return {{"computing", shares.computing},
          {"waiting", shares.waiting},
          {"transferring", shares.transferring},
          {"rest", shares.rest()}};
}

}  // namespace starling::cli
