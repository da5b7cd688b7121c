// The definitions of integer_kernels.h. Private, and included once per instruction set: everything is in an
// unnamed namespace and nothing inline of the standard library is called (core/combine_lanes.h says why). The
// compiler makes vector instructions of these loops.
#pragma once

#include "starling/compression/integer_kernels.h"

namespace starling::compression::detail {
namespace {  // NOLINT(google-build-namespaces): see above

// The order of magnitudes is that of their bits, and NaN is above all.
std::uint32_t largest_magnitude(const float* values, std::size_t count) {
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t bits = __builtin_bit_cast(std::int32_t, values[i]) & 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  return static_cast<std::uint32_t>(largest);
}

// Numbers that look random, one for each element.
inline std::uint32_t mixed(std::uint32_t number) {
  number *= 0x9e3779b1U;
  number ^= number >> 15;
  number *= 0x85ebca77U;
  number ^= number >> 13;
  number *= 0xc2b2ae3dU;
  return number ^ (number >> 16);
}

// From -1/2 to 1/2 in steps of 2^-16, both ends left out: a whole number plus this is rounded to itself.
inline float dither(std::uint32_t draw) {
  const auto step = static_cast<std::int32_t>(mixed(draw) >> 16);
  return (static_cast<float>(step) - 32767.5F) * 0x1p-16F;
}

// In the last bits of 1.5 * 2^23 + x stands x, rounded to nearest.
inline std::uint32_t rounded(float x) { return __builtin_bit_cast(std::uint32_t, x + 0x1.8p23F); }

struct Nearest {
  static float at(const BlockJob& job, std::size_t i) { return job.values[i] * job.inverse; }
};

struct AtRandom {
  static float at(const BlockJob& job, std::size_t i) {
    return job.values[i] * job.inverse + dither(job.draw + static_cast<std::uint32_t>(i));
  }
};

// Bytes may be anything's to the compiler: jobs are copied, and what is written is said to be nothing else's.
template <class Rule>
void quantise_bytes(const BlockJob job, std::uint8_t* __restrict out) {
  for (std::size_t i = 0; i < job.count; ++i) out[i] = static_cast<std::uint8_t>(rounded(Rule::at(job, i)));
}

template <class Rule>
void quantise_nibbles(const BlockJob job, std::uint8_t* __restrict out) {
  const std::size_t half = (job.count + 1) / 2, pairs = job.count - half;
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::uint32_t low = rounded(Rule::at(job, i)), high = rounded(Rule::at(job, half + i));
    out[i] = static_cast<std::uint8_t>((low & 15U) | (high << 4));
  }
  if (pairs < half) out[pairs] = static_cast<std::uint8_t>(rounded(Rule::at(job, pairs)) & 15U);
}

void quantise_to_bytes(const BlockJob& job, std::uint8_t* out) {
  job.stochastic ? quantise_bytes<AtRandom>(job, out) : quantise_bytes<Nearest>(job, out);
}

void quantise_to_nibbles(const BlockJob& job, std::uint8_t* out) {
  job.stochastic ? quantise_nibbles<AtRandom>(job, out) : quantise_nibbles<Nearest>(job, out);
}

struct Assign {
  static void to(float& value, float moved) { value = moved; }
};

struct Increase {
  static void to(float& value, float moved) { value += moved; }
};

template <class How>
void expand_bytes(const std::uint8_t* __restrict from, float scale, float* __restrict values,
                  std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    How::to(values[i], scale * static_cast<float>(static_cast<std::int8_t>(from[i])));
  }
}

// The sign of a nibble is its upper bit.
inline float nibble(std::uint32_t four) {
  return static_cast<float>(static_cast<std::int32_t>(four << 28) >> 28);
}

template <class How>
void expand_nibbles(const std::uint8_t* __restrict from, float scale, float* __restrict values,
                    std::size_t count) {
  const std::size_t half = (count + 1) / 2, pairs = count - half;
  for (std::size_t i = 0; i < half; ++i) How::to(values[i], scale * nibble(from[i]));
  for (std::size_t i = 0; i < pairs; ++i) How::to(values[half + i], scale * nibble(from[i] >> 4U));
}

}  // namespace
}  // namespace starling::compression::detail
