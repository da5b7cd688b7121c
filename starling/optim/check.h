// Checks of arguments that all optimisers share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "starling/core/partition.h"

namespace starling::optim {

// InvalidArgument unless `value` is finite and not negative.
void check_not_negative(std::string_view what, double value);

// InvalidArgument unless apply() may do this: after an advance(), with vectors of `count` elements.
void check_apply(Slice part, std::size_t count, std::span<const float> x, std::span<const float> gradient,
                 std::uint64_t steps);

}  // namespace starling::optim
