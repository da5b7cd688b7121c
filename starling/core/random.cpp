#include "starling/core/random.h"

#include <bit>
#include <cmath>

#include "starling/core/elementary.h"
#include "starling/core/error.h"

namespace starling {
namespace {

std::uint64_t splitmix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed) : state_{} {
  for (std::uint64_t& word : state_) word = splitmix(seed);
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t n) {
  if (n == 0) throw InvalidArgument("Random::below(0): there is no number to choose");
  // The lowest 2^64 mod n values are drawn again; the rest is a whole number of rounds of n.
  const std::uint64_t refused = (0 - n) % n;
  std::uint64_t drawn = next();
  while (drawn < refused) drawn = next();
  return drawn % n;
}

int Random::between(int lo, int hi) {
  if (lo > hi) throw InvalidArgument(concat("Random::between(", lo, ", ", hi, "): the range is empty"));
  const auto width = static_cast<std::uint64_t>(static_cast<std::int64_t>(hi) - lo + 1);
  return static_cast<int>(lo + static_cast<std::int64_t>(below(width)));
}

double Random::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

// Marsaglia's polar method. The second number it yields is dropped: the state stays four words.
double Random::normal() {
  for (;;) {
    const double x = 2 * uniform() - 1;
    const double y = 2 * uniform() - 1;
    const double square = x * x + y * y;
    if (square > 0 && square < 1) return x * std::sqrt(-2 * natural_log(square) / square);
  }
}

double Random::exponential(double mean) { return -mean * natural_log(1 - uniform()); }

bool Random::chance(double p) { return uniform() < p; }

Random Random::fork(std::uint64_t stream) const {
  std::uint64_t seed = stream;
  for (const std::uint64_t word : state_) {
    seed = splitmix(seed) ^ word;
  }
  return Random(splitmix(seed));
}

}  // namespace starling
