// Vector registers by element type, for combine_kernels.h.
//
// Private, and included once per instruction set. Everything is in an unnamed namespace and nothing inline of
// the standard library is called: a function compiled for AVX2 that the linker merged with its namesakes
// would crash machines without AVX2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>
#endif

namespace starling::detail {
namespace {  // NOLINT(google-build-namespaces): see above

#if defined(__AVX2__) && defined(__F16C__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif

using FloatVec [[gnu::vector_size(kVectorBytes)]] = float;
using DoubleVec [[gnu::vector_size(kVectorBytes)]] = double;
using Int32Vec [[gnu::vector_size(kVectorBytes)]] = std::int32_t;
using Int64Vec [[gnu::vector_size(kVectorBytes)]] = std::int64_t;
using UInt32Vec [[gnu::vector_size(kVectorBytes)]] = std::uint32_t;
using UInt64Vec [[gnu::vector_size(kVectorBytes)]] = std::uint64_t;
using HalfVec [[gnu::vector_size(kVectorBytes / 2)]] = std::uint16_t;  // as many elements as FloatVec

// A lane type says how kWidth elements in memory become one register `Vec` and back.
template <class Register, class Element>
struct PlainLane {
  using Vec = Register;
  using Scalar = Element;
  static constexpr std::size_t kBytes = sizeof(Vec);
  static constexpr std::size_t kElementBytes = sizeof(Element);
  static constexpr std::size_t kWidth = kBytes / kElementBytes;

  static Vec load(const std::byte* from) {
    Vec value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  static void store(std::byte* to, Vec value) { std::memcpy(to, &value, sizeof(value)); }
};

using FloatLane = PlainLane<FloatVec, float>;
using DoubleLane = PlainLane<DoubleVec, double>;
using Int32Lane = PlainLane<Int32Vec, std::int32_t>;
using Int64Lane = PlainLane<Int64Vec, std::int64_t>;
using UInt32Lane = PlainLane<UInt32Vec, std::uint32_t>;  // for sums, which may wrap around
using UInt64Lane = PlainLane<UInt64Vec, std::uint64_t>;

inline UInt32Vec widen(const std::byte* from) {
#if defined(__AVX2__) && defined(__F16C__)
  return reinterpret_cast<UInt32Vec>(
      _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#else
  HalfVec value;
  std::memcpy(&value, from, sizeof(value));
  return __builtin_convertvector(value, UInt32Vec);
#endif
}

// No element is above 0xffff.
inline void narrow(std::byte* to, UInt32Vec wide) {
#if defined(__AVX2__) && defined(__F16C__)
  const __m256i packed =
      _mm256_packus_epi32(reinterpret_cast<__m256i>(wide), reinterpret_cast<__m256i>(wide));
  const __m256i ordered = _mm256_permute4x64_epi64(packed, 0b1000);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(ordered));
#else
  const HalfVec value = __builtin_convertvector(wide, HalfVec);
  std::memcpy(to, &value, sizeof(value));
#endif
}

struct HalfLane {
  using Vec = FloatVec;
  using Scalar = float;
  static constexpr std::size_t kBytes = sizeof(HalfVec);
  static constexpr std::size_t kElementBytes = 2;
  static constexpr std::size_t kWidth = kBytes / kElementBytes;
};

// As BFloat16 in dtype.h.
struct BFloat16Lane : HalfLane {
  static FloatVec load(const std::byte* from) { return reinterpret_cast<FloatVec>(widen(from) << 16); }
  static void store(std::byte* to, FloatVec value) {
    const UInt32Vec bits = reinterpret_cast<UInt32Vec>(value);
    const Int32Vec magnitude = reinterpret_cast<Int32Vec>(bits & 0x7fffffffu);
    const UInt32Vec rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    narrow(to, (magnitude > 0x7f800000 ? bits | 0x400000u : rounded) >> 16);
  }
};

// As Float16 in dtype.h.
struct Float16Lane : HalfLane {
#if defined(__AVX2__) && defined(__F16C__)
  static FloatVec load(const std::byte* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static void store(std::byte* to, FloatVec value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
  }
#else
  // A subnormal m 2^-24 is found as (2^-14 + m 2^-24) - 2^-14, which is exact.
  static FloatVec load(const std::byte* from) {
    const UInt32Vec bits = widen(from);
    const UInt32Vec shifted = (bits & 0x7fffu) << 13;
    const Int32Vec magnitude = reinterpret_cast<Int32Vec>(shifted);
    const FloatVec offset = reinterpret_cast<FloatVec>(shifted + (113u << 23)) - 0x1p-14f;
    const UInt32Vec small = reinterpret_cast<UInt32Vec>(offset);
    const UInt32Vec special = shifted + (224u << 23);
    const UInt32Vec quiet = magnitude > (31 << 23) ? special | 0x400000u : special;
    const UInt32Vec finite = magnitude < (1 << 23) ? small : shifted + (112u << 23);
    const UInt32Vec value = magnitude >= (31 << 23) ? quiet : finite;
    return reinterpret_cast<FloatVec>(value | ((bits & 0x8000u) << 16));
  }
  // Adding 0.5, whose last bit is 2^-24, rounds to a multiple of the smallest subnormal.
  static void store(std::byte* to, FloatVec value) {
    const UInt32Vec bits = reinterpret_cast<UInt32Vec>(value);
    const UInt32Vec positive = bits & 0x7fffffffu;
    const Int32Vec magnitude = reinterpret_cast<Int32Vec>(positive);
    const FloatVec offset = reinterpret_cast<FloatVec>(positive) + 0.5f;
    const UInt32Vec small = reinterpret_cast<UInt32Vec>(offset) - 0x3f000000u;
    const UInt32Vec normal = (positive - (112u << 23) + 0xfffu + ((positive >> 13) & 1u)) >> 13;
    const UInt32Vec quiet = ((positive >> 13) & 0x3ffu) | 0x7e00u;
    const UInt32Vec infinite = (positive & 0u) | 0x7c00u;
    const UInt32Vec special = magnitude > 0x7f800000 ? quiet : infinite;
    const UInt32Vec finite = magnitude < 0x38800000 ? small : normal;
    narrow(to, (magnitude >= 0x47800000 ? special : finite) | ((bits >> 16) & 0x8000u));
  }
#endif
};

}  // namespace
}  // namespace starling::detail
