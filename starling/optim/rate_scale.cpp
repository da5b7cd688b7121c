#include "starling/optim/rate_scale.h"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "starling/core/error.h"

namespace starling::optim {
namespace {

constexpr std::array<std::pair<RateScale, std::string_view>, 3> kRateScaleNames = {
    {{RateScale::kNone, "none"}, {RateScale::kLinear, "linear"}, {RateScale::kSqrt, "sqrt"}}};

}  // namespace

double rate_factor(RateScale scale, int workers) {
  if (scale == RateScale::kLinear) return workers;
  return scale == RateScale::kSqrt ? std::sqrt(workers) : 1;
}

std::string_view name_of(RateScale scale) {
  for (const auto& [known, name] : kRateScaleNames) {
    if (known == scale) return name;
  }
  return "?";
}

RateScale parse_rate_scale(std::string_view text, std::string_view what) {
  std::vector<std::string_view> names;
  for (const auto& [scale, name] : kRateScaleNames) {
    if (name == text) return scale;
    names.push_back(name);
  }
  throw InvalidArgument(concat(what, ": unknown rule '", text, "'; allowed: ", join_texts(names)));
}

}  // namespace starling::optim
