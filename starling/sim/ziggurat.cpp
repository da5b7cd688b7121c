#include "starling/sim/ziggurat.h"

#include "starling/core/elementary.h"

namespace starling::sim {
namespace {

// Where the tail begins and the area of a layer: the pair for which 256 layers end at the peak.
constexpr double kTail = 3.6541528853610088;
constexpr double kArea = 4.92867323399e-3;

double bell(double x) { return natural_exp(-0.5 * x * x); }

}  // namespace

Ziggurat::Ziggurat() : edges_{}, heights_{} {
  edges_[0] = kArea / bell(kTail);
  edges_[1] = kTail;
  heights_[1] = bell(kTail);
  for (std::size_t layer = 2; layer < kLayers; ++layer) {
    heights_[layer] = kArea / edges_[layer - 1] + heights_[layer - 1];
    edges_[layer] = std::sqrt(-2 * natural_log(heights_[layer]));
  }
  heights_[kLayers] = 1;  // at 0, the peak
}

double Ziggurat::rest(std::size_t layer, double value, Random& random) const {
  if (layer > 0) {
    const double low = heights_[layer], high = heights_[layer + 1];
    return low + random.uniform() * (high - low) < bell(value) ? value : (*this)(random);
  }
  // Marsaglia's tail: exponential steps beyond kTail, kept where they are under the bell.
  for (;;) {
    const double beyond = random.exponential(1 / kTail);
    if (2 * random.exponential(1) >= beyond * beyond) return std::copysign(kTail + beyond, value);
  }
}

}  // namespace starling::sim
