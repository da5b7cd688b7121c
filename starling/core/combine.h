// Element-wise arithmetic on vectors in memory: sums, minima and maxima of several, scaling, conversion.
//
// The results do not depend on the machine: every element is computed by the same IEEE operations in the same
// order, with or without AVX2. The one exception is the sign and payload of a NaN that an addition,
// multiplication or division yields. Addresses need no alignment.
#pragma once

#include <cstddef>
#include <span>

#include "starling/core/dtype.h"

namespace starling {

// kMin is `b < a ? b : a` and kMax `a < b ? b : a`, where a is the result so far and b the next source. So a
// NaN in the first source stays, one in a later source is passed over, and of -0 and 0 the first is kept.
enum class ReduceOp { kSum, kMin, kMax };

// How several equally long vectors become one: `op` over the sources in their order.
struct Combine {
  ReduceOp op = ReduceOp::kSum;
  std::span<const double> weights = {};  // one factor per source, or none at all; floating sums only
  double divisor = 1;                    // of the result, 1 leaves it; floating sums only
};

// out[i] = (s0[i] * w0 + s1[i] * w1 + ...) / divisor, from left to right. Weights and divisor are rounded to
// the accumulator type (accumulator_of) first; the 16-bit types are rounded once, at the end. Integer sums
// wrap around. `out` may be one of the sources but must not overlap one partially. At least one source.
void combine(DType type, const Combine& how, std::byte* out, std::span<const std::byte* const> sources,
             std::size_t count);

// into[i] = into[i] op from[i]
void accumulate(DType type, ReduceOp op, std::byte* into, const std::byte* from, std::size_t count);

// Between a 16-bit type and float32, either way, or a plain copy of any type to itself.
void convert(DType from, const std::byte* source, DType to, std::byte* target, std::size_t count);

// data[i] *= factor; floating types only.
void scale(DType type, double factor, std::byte* data, std::size_t count);

// data[i] /= divisor; floating types only.
void divide(DType type, double divisor, std::byte* data, std::size_t count);

// Whether all are numbers: none is infinite or NaN.
bool all_finite(std::span<const float> values);

namespace detail {

// A call of combine() after its checks.
struct CombineJob {
  DType type = DType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  const double* weights = nullptr;
  double divisor = 1;
  std::byte* out = nullptr;
  const std::byte* const* sources = nullptr;
  std::size_t source_count = 0;
  std::size_t count = 0;
};

// The same code compiled for one instruction set.
struct Kernels {
  const char* name;
  void (*combine)(const CombineJob& job);
  void (*convert)(DType from, const std::byte* source, DType to, std::byte* target, std::size_t count);
  bool (*all_finite)(const std::byte* floats, std::size_t count);
  // shared_update.h
  void (*elastic_step)(float* centre, float* x, float alpha, std::size_t count);
  void (*elastic_difference)(float* centre, const float* x, float alpha, float* difference,
                             std::size_t count);
  void (*merge_change)(float* shared, float* x, float* before, std::size_t count);
};

const Kernels& baseline_kernels();

// Null if this build or this machine has none.
const Kernels* avx2_kernels();

// Returns the kernels that the functions above use, chosen at the first call. Throws InvalidArgument if
// STARLING_SIMD asks for something that the machine does not have.
const Kernels& active_kernels();

}  // namespace detail
}  // namespace starling
