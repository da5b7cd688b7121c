// The order in which an epoch goes through a data set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace starling::data {

// A permutation of 0 ... size-1 that depends on nothing else: every rank makes the same one and takes its
// part, without a message. Any epoch can be made without those before it. InvalidArgument above 2^32.
std::vector<std::uint32_t> epoch_order(std::size_t size, std::uint64_t seed, std::uint64_t epoch);

}  // namespace starling::data
