// The loops of combine.h, for the instruction set this file is compiled for. See combine_lanes.h for what may
// be used here.
#pragma once

#include "starling/core/combine.h"
#include "starling/core/combine_lanes.h"

namespace starling::detail {
namespace {  // NOLINT(google-build-namespaces): see combine_lanes.h

struct Sum {
  static constexpr bool kWeighted = false;
  template <class Vec>
  static Vec apply(Vec a, Vec b) {
    return a + b;
  }
};

struct WeightedSum : Sum {
  static constexpr bool kWeighted = true;
};

struct Min {
  static constexpr bool kWeighted = false;
  template <class Vec>
  static Vec apply(Vec a, Vec b) {
    return b < a ? b : a;
  }
};

struct Max {
  static constexpr bool kWeighted = false;
  template <class Vec>
  static Vec apply(Vec a, Vec b) {
    return a < b ? b : a;
  }
};

// A full register, or the first `some` elements of one.
struct Whole {
  template <class Lane>
  typename Lane::Vec load(const std::byte* from) const {
    return Lane::load(from);
  }
  template <class Lane>
  void store(std::byte* to, typename Lane::Vec value) const {
    Lane::store(to, value);
  }
};

struct Part {
  std::size_t some;
  template <class Lane>
  typename Lane::Vec load(const std::byte* from) const {
    std::byte padded[Lane::kBytes] = {};
    std::memcpy(padded, from, some * Lane::kElementBytes);
    return Lane::load(padded);
  }
  template <class Lane>
  void store(std::byte* to, typename Lane::Vec value) const {
    std::byte padded[Lane::kBytes];
    Lane::store(padded, value);
    std::memcpy(to, padded, some * Lane::kElementBytes);
  }
};

// The processor's own prefetching stops at each page; asking for what comes a page later hides that, also
// where that belongs to the caller's next block. An address beyond the data does no harm.
constexpr std::size_t kAhead = 4096;

inline void prefetch(const std::byte* from, std::size_t bytes) {
#pragma GCC unroll 8
  for (std::size_t line = 0; line < bytes; line += 64) __builtin_prefetch(from + kAhead + line, 0, 2);
}

// Reads kVectors registers of every source at `offset` and writes the result once.
template <class Lane, class Rule, std::size_t kVectors, class Access>
inline void step(const CombineJob& job, std::size_t offset, Access access) {
  using Vec = typename Lane::Vec;
  using Scalar = typename Lane::Scalar;
  const auto load = [&](std::size_t source, std::size_t v) -> Vec {
    const Vec loaded = access.template load<Lane>(job.sources[source] + offset + v * Lane::kBytes);
    if constexpr (Rule::kWeighted) return loaded * static_cast<Scalar>(job.weights[source]);
    return loaded;
  };
  Vec result[kVectors];
#pragma GCC unroll 8
  for (std::size_t v = 0; v < kVectors; ++v) result[v] = load(0, v);
  if constexpr (kVectors > 1) prefetch(job.sources[0] + offset, kVectors * Lane::kBytes);
  for (std::size_t s = 1; s < job.source_count; ++s) {
    if constexpr (kVectors > 1) prefetch(job.sources[s] + offset, kVectors * Lane::kBytes);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kVectors; ++v) result[v] = Rule::apply(result[v], load(s, v));
  }
  if (job.divisor != 1) {
    const auto divisor = static_cast<Scalar>(job.divisor);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < kVectors; ++v) result[v] = result[v] / divisor;
  }
#pragma GCC unroll 8
  for (std::size_t v = 0; v < kVectors; ++v) {
    access.template store<Lane>(job.out + offset + v * Lane::kBytes, result[v]);
  }
}

template <class Lane, class Rule>
void run(const CombineJob& job) {
  constexpr std::size_t kVectors = 4, kStep = kVectors * Lane::kBytes;
  const std::size_t bytes = job.count * Lane::kElementBytes;
  std::size_t at = 0;
  for (; bytes - at >= kStep; at += kStep) step<Lane, Rule, kVectors>(job, at, Whole{});
  for (; bytes - at >= Lane::kBytes; at += Lane::kBytes) step<Lane, Rule, 1>(job, at, Whole{});
  if (at != bytes) step<Lane, Rule, 1>(job, at, Part{(bytes - at) / Lane::kElementBytes});
}

template <class Lane>
void run_order(const CombineJob& job) {
  job.op == ReduceOp::kMin ? run<Lane, Min>(job) : run<Lane, Max>(job);
}

template <class Lane>
void run_floating(const CombineJob& job) {
  if (job.op != ReduceOp::kSum) return run_order<Lane>(job);
  job.weights != nullptr ? run<Lane, WeightedSum>(job) : run<Lane, Sum>(job);
}

template <class Lane, class SumLane>
void run_integer(const CombineJob& job) {
  job.op == ReduceOp::kSum ? run<SumLane, Sum>(job) : run_order<Lane>(job);
}

void combine_vectors(const CombineJob& job) {
  switch (job.type) {
    case DType::kFloat32:
      return run_floating<FloatLane>(job);
    case DType::kFloat64:
      return run_floating<DoubleLane>(job);
    case DType::kInt32:
      return run_integer<Int32Lane, UInt32Lane>(job);
    case DType::kInt64:
      return run_integer<Int64Lane, UInt64Lane>(job);
    case DType::kFloat16:
      return run_floating<Float16Lane>(job);
    case DType::kBFloat16:
      return run_floating<BFloat16Lane>(job);
  }
}

template <class From, class To>
void convert_lanes(const std::byte* source, std::byte* target, std::size_t count) {
  static_assert(From::kWidth == To::kWidth);
  std::size_t at = 0;
  const auto pass = [&](auto access) {
    const auto value = access.template load<From>(source + at * From::kElementBytes);
    access.template store<To>(target + at * To::kElementBytes, value);
  };
  for (; count - at >= From::kWidth; at += From::kWidth) pass(Whole{});
  if (at != count) pass(Part{count - at});
}

// One of the two types is float32, the other one has 16 bits.
void convert_vector(DType from, const std::byte* source, DType to, std::byte* target, std::size_t count) {
  if (from == DType::kFloat16) return convert_lanes<Float16Lane, FloatLane>(source, target, count);
  if (from == DType::kBFloat16) return convert_lanes<BFloat16Lane, FloatLane>(source, target, count);
  if (to == DType::kFloat16) return convert_lanes<FloatLane, Float16Lane>(source, target, count);
  return convert_lanes<FloatLane, BFloat16Lane>(source, target, count);
}

// The bits of a register are set where a float has an exponent of ones: it is infinite or NaN.
inline Int32Vec not_finite(const std::byte* from) {
  const UInt32Vec magnitude = UInt32Lane::load(from) & 0x7fffffffu;
  return reinterpret_cast<Int32Vec>(magnitude) > 0x7f7fffff;
}

inline bool any_set(Int32Vec mask) {
  const auto wide = reinterpret_cast<UInt64Vec>(mask);
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < sizeof(wide) / sizeof(any); ++i) any |= wide[i];
  return any != 0;
}

// Ends with the first block that has one.
bool all_finite_floats(const std::byte* floats, std::size_t count) {
  constexpr std::size_t kVectors = 4, kStep = kVectors * FloatLane::kBytes, kBlock = 64 * kStep;
  const std::size_t bytes = count * sizeof(float);
  std::size_t at = 0;
  while (bytes - at >= kStep) {
    const std::size_t end = at + (bytes - at < kBlock ? (bytes - at) / kStep * kStep : kBlock);
    Int32Vec found[kVectors] = {};
    for (; at < end; at += kStep) {
      prefetch(floats + at, kStep);
#pragma GCC unroll 8
      for (std::size_t v = 0; v < kVectors; ++v) found[v] |= not_finite(floats + at + v * FloatLane::kBytes);
    }
    if (any_set(found[0] | found[1] | found[2] | found[3])) return false;
  }
  if (at == bytes) return true;  // there may be no memory at all
  std::byte rest[kStep] = {};
  std::memcpy(rest, floats + at, bytes - at);
  Int32Vec found = {};
  for (std::size_t v = 0; v < kVectors; ++v) found |= not_finite(rest + v * FloatLane::kBytes);
  return !any_set(found);
}

}  // namespace
}  // namespace starling::detail
