// Random numbers that are the same on every platform and with every compiler.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace starling {

// xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021), seeded by
// splitmix64. The standard's distributions differ between libraries, so they are written out here. Satisfies
// UniformRandomBitGenerator. Not for secrets.
class Random {
 public:
  using result_type = std::uint64_t;

  explicit Random(std::uint64_t seed);

  std::uint64_t next();

  // [0, n), without bias; n must not be 0.
  std::uint64_t below(std::uint64_t n);

  // [lo, hi], both included; lo must not be above hi.
  int between(int lo, int hi);

  // [0, 1), in steps of 2^-53.
  double uniform();

  // Mean 0, variance 1.
  double normal();

  double exponential(double mean);

  // True with probability p: never for p <= 0, always for p >= 1.
  bool chance(double p);

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      const auto pick = static_cast<std::size_t>(below(left));
      if (pick != left - 1) std::swap(items[pick], items[left - 1]);
    }
  }

  // An independent generator that depends on this one's state and on `stream`. Does not advance this one, so
  // each rank or step can have its own and the order in which they are made does not matter.
  Random fork(std::uint64_t stream) const;

  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return std::numeric_limits<std::uint64_t>::max(); }
  std::uint64_t operator()() { return next(); }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace starling
