#include "starling/data/order.h"

#include <limits>
#include <numeric>

#include "starling/core/error.h"
#include "starling/core/random.h"

namespace starling::data {

std::vector<std::uint32_t> epoch_order(std::size_t size, std::uint64_t seed, std::uint64_t epoch) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 32;
  if (size > kMost) {
    throw InvalidArgument(concat("epoch_order: ", size, " samples; allowed: up to ", kMost));
  }
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  Random(seed).fork(epoch).shuffle(order);
  return order;
}

}  // namespace starling::data
