// The learning rate of n workers, whose batches together are n times as large, from that of one.
#pragma once

#include <string_view>

namespace starling::optim {

enum class RateScale {
  kNone,
  kLinear,  // n times (Goyal et al., "Accurate, large minibatch SGD", 2017)
  kSqrt,    // sqrt(n) times (Krizhevsky, "One weird trick for parallelizing CNNs", 2014)
};

double rate_factor(RateScale scale, int workers);

// "linear"
std::string_view name_of(RateScale scale);
// InvalidArgument naming `what` and the names.
RateScale parse_rate_scale(std::string_view text, std::string_view what);

}  // namespace starling::optim
