// Fast normal numbers.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "starling/core/random.h"

namespace starling::sim {

// The ziggurat method (Marsaglia and Tsang, 2000, in Doornik's form of 2005): the half bell is covered by
// layers of equal area, and almost 99 numbers of 100 cost one draw, one multiplication and one comparison:
// less than a fifth of the time of Random::normal(). Mean 0, variance 1, the full tails. The table does not
// change after its construction: threads may share one.
class Ziggurat {
 public:
  Ziggurat();

  double operator()(Random& random) const {
    const std::uint64_t bits = random.next();
    const std::size_t layer = bits % kLayers;
    // The highest 53 bits with their sign: [-1, 1), and apart from those that chose the layer.
    const double at = static_cast<double>(static_cast<std::int64_t>(bits) >> 11) * 0x1p-52;
    const double value = at * edges_[layer];
    if (std::fabs(value) < edges_[layer + 1]) return value;
    return rest(layer, value, random);
  }

 private:
  static constexpr std::size_t kLayers = 256;

  // The case of a value outside its layer's whole rectangle.
  double rest(std::size_t layer, double value, Random& random) const;

  // Right edges of the layers, from the lowest, whose edge is that of a rectangle as large as the layer with
  // its tail, up to the peak; and the bell's height there.
  std::array<double, kLayers + 1> edges_;
  std::array<double, kLayers + 1> heights_;
};

}  // namespace starling::sim
