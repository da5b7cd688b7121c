// Element types of vectors, and the two 16-bit floats the language has no type for.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace starling {

enum class DType { kFloat32, kFloat64, kInt32, kInt64, kFloat16, kBFloat16 };

std::size_t size_of(DType type);

// "float32", "bfloat16"
std::string_view name_of(DType type);

bool is_floating(DType type);

// The type sums are formed in: float32 for the 16-bit types, otherwise the type itself.
DType accumulator_of(DType type);

namespace detail {

// `value` / 2^shift to the nearest integer, ties to the even one.
constexpr std::uint32_t shift_rounded(std::uint32_t value, std::uint32_t shift) {
  const std::uint32_t just_below_half = (1u << (shift - 1)) - 1;
  return (value + just_below_half + ((value >> shift) & 1)) >> shift;
}

constexpr std::uint16_t float_to_half(float value) {
  constexpr std::uint32_t kInfinity = 0x7f800000, kTooLarge = 0x47800000, kSmallestNormal = 0x38800000;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
  const std::uint32_t exponent = magnitude >> 23;
  std::uint32_t half = 0;  // also for magnitudes below half of the smallest subnormal
  if (magnitude > kInfinity) {
    half = 0x7e00 | ((magnitude >> 13) & 0x3ff);
  } else if (magnitude >= kTooLarge) {
    half = 0x7c00;
  } else if (magnitude >= kSmallestNormal) {
    half = shift_rounded(magnitude - (112u << 23), 13);  // a carry moves into the exponent, up to infinity
  } else if (exponent >= 102) {
    half = shift_rounded((magnitude & 0x7fffff) | 0x800000, 126 - exponent);
  }
  return static_cast<std::uint16_t>(sign | half);
}

constexpr float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31u;
  std::uint32_t mantissa = half & 0x3ffu, bits = 0;
  if (exponent == 31) {
    bits = 0x7f800000 | (mantissa << 13) | (mantissa != 0 ? 0x400000 : 0);
  } else if (exponent != 0) {
    bits = ((exponent + 112) << 23) | (mantissa << 13);
  } else if (mantissa != 0) {
    const auto shift = static_cast<std::uint32_t>(std::countl_zero(mantissa)) - 21;
    mantissa = (mantissa << shift) & 0x3ff;
    bits = ((113 - shift) << 23) | (mantissa << 13);
  }
  return std::bit_cast<float>(sign | bits);
}

constexpr std::uint16_t float_to_bfloat(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>(shift_rounded(bits, 16));
}

constexpr float bfloat_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace detail

// IEEE binary16. From float: to nearest, ties to even; too large becomes infinity. A NaN stays one, keeps
// its sign and upper bits and becomes quiet in both directions, which is what x86's F16C does.
struct Float16 {
  Float16() = default;
  constexpr explicit Float16(float value) : bits(detail::float_to_half(value)) {}
  constexpr explicit operator float() const { return detail::half_to_float(bits); }

  std::uint16_t bits;
};

// The upper half of a float. From float: to nearest, ties to even; a NaN stays one and becomes quiet.
struct BFloat16 {
  BFloat16() = default;
  constexpr explicit BFloat16(float value) : bits(detail::float_to_bfloat(value)) {}
  constexpr explicit operator float() const { return detail::bfloat_to_float(bits); }

  std::uint16_t bits;
};

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::kFloat32;
  if constexpr (std::is_same_v<T, double>) return DType::kFloat64;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::kInt32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::kInt64;
  if constexpr (std::is_same_v<T, Float16>) return DType::kFloat16;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::kBFloat16;
}

}  // namespace starling
