// How much the time of a worker's step varies.
#pragma once

#include <string>
#include <string_view>

#include "starling/core/random.h"

namespace starling::cluster {

// The factor of a step's time; JitterSpan says how long one lasts. The mean is 1, except for kBernoulli and
// for a kNormal so wide that its lower end is cut off.
struct Jitter {
  enum class Kind { kNone, kNormal, kLognormal, kExponential, kPareto, kBernoulli };
  Kind kind = Kind::kNone;
  double a = 0;  // normal, lognormal: sigma; pareto: shape; bernoulli: probability
  double b = 0;  // bernoulli: the factor

  bool operator==(const Jitter&) const = default;
};

// "none", "normal:0.1", "lognormal:0.2", "exponential", "pareto:2.5", "bernoulli:0.1:5".
// Throws InvalidArgument naming `what` and the allowed forms.
Jitter parse_jitter(std::string_view text, std::string_view what);

// The text that parse_jitter reads back.
std::string text_of(const Jitter& jitter);

// One factor, above 0; the same on every machine.
double draw(const Jitter& jitter, Random& random);

}  // namespace starling::cluster
