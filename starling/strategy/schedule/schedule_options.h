// Options that the communication schedules share.
#pragma once

#include "starling/strategy/options.h"
#include "starling/strategy/schedule/bucket_size.h"

namespace starling::strategy {

inline constexpr std::size_t kDearFusion = std::size_t{25} << 20;  // bytes

OptionSpec fusion_option(std::string help);
OptionSpec window_option();
// `fallback` where the option says "default", and as the first value where it says "auto".
BucketSizeOptions fusion_of(const Options& options, std::size_t fallback);

}  // namespace starling::strategy
