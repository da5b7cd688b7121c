#include "starling/core/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "starling/core/error.h"
#include "starling/core/random.h"

namespace starling {
namespace {

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

template <class T>
T from_bits(unsigned bits) {
  T value;
  value.bits = static_cast<std::uint16_t>(bits);
  return value;
}

// The meaning of the format, from its fields alone: exact in long double.
struct Format {
  int mantissa_bits;
  int exponent_bias;

  int exponent_mask() const { return (1 << (15 - mantissa_bits)) - 1; }
  long double value(unsigned bits) const {
    const int exponent = static_cast<int>(bits >> mantissa_bits) & exponent_mask();
    const unsigned mantissa = bits & ((1u << mantissa_bits) - 1);
    const long double sign = (bits & 0x8000) != 0 ? -1.0L : 1.0L;
    const int scale = 1 - exponent_bias - mantissa_bits;
    if (exponent == 0) return sign * std::ldexp(static_cast<long double>(mantissa), scale);
    return sign *
           std::ldexp(static_cast<long double>(mantissa + (1u << mantissa_bits)), scale + exponent - 1);
  }
  unsigned infinity() const { return static_cast<unsigned>(exponent_mask()) << mantissa_bits; }

  // The nearest of two neighbours; the bits after the largest finite value represent its next step, which is
  // rounded to infinity.
  unsigned nearest(long double magnitude) const {
    unsigned low = 0, high = infinity();
    if (magnitude >= value(high)) return high;
    while (high - low > 1) {
      const unsigned middle = (low + high) / 2;
      (value(middle) <= magnitude ? low : high) = middle;
    }
    const long double below = magnitude - value(low), above = value(high) - magnitude;
    if (below == above) return (low & 1) == 0 ? low : high;
    return below < above ? low : high;
  }
};

constexpr Format kHalf = {10, 15}, kBFloat = {7, 127};

template <class T>
void expect_all_patterns_right(const Format& format) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float value = static_cast<float>(from_bits<T>(bits));
    if ((bits & 0x7fff) > format.infinity()) {
      const unsigned quiet = bits | (1u << (format.mantissa_bits - 1));
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_EQ(T(value).bits, quiet) << bits;
      continue;
    }
    if ((bits & 0x7fff) == format.infinity()) {
      ASSERT_TRUE(std::isinf(value)) << bits;
    } else {
      ASSERT_EQ(static_cast<long double>(value), format.value(bits)) << bits;
    }
    ASSERT_EQ(std::signbit(value), (bits & 0x8000) != 0) << bits;
    ASSERT_EQ(T(value).bits, bits);
  }
}

template <class T>
void expect_nearest(float value, const Format& format) {
  if (std::isnan(value)) return;
  const unsigned sign = std::signbit(value) ? 0x8000 : 0;
  ASSERT_EQ(T(value).bits, format.nearest(std::fabs(static_cast<long double>(value))) | sign) << value;
}

// Every value, every midpoint of two neighbours, and the floats next to those.
template <class T>
void expect_ties_to_even(const Format& format) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (unsigned bits = 0; bits < format.infinity(); ++bits) {
    const long double middle = (format.value(bits) + format.value(bits + 1)) / 2;
    for (const long double exact : {format.value(bits), middle, -middle}) {
      const auto value = static_cast<float>(exact);
      expect_nearest<T>(value, format);
      expect_nearest<T>(std::nextafter(value, kInfinity), format);
      expect_nearest<T>(std::nextafter(value, -kInfinity), format);
    }
  }
}

template <class T>
void expect_random_right(const Format& format) {
  Random random(7);
  for (int i = 0; i < 300000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.next());
    expect_nearest<T>(std::bit_cast<float>(bits), format);
    const auto near_one = static_cast<float>(random.normal() * std::exp2(random.between(-30, 20)));
    expect_nearest<T>(near_one, format);
  }
}

TEST(Float16, EveryPatternIsExactAndComesBack) { expect_all_patterns_right<Float16>(kHalf); }
TEST(BFloat16, EveryPatternIsExactAndComesBack) { expect_all_patterns_right<BFloat16>(kBFloat); }
TEST(Float16, RoundsToNearestTiesToEven) { expect_ties_to_even<Float16>(kHalf); }
TEST(BFloat16, RoundsToNearestTiesToEven) { expect_ties_to_even<BFloat16>(kBFloat); }
TEST(Float16, RoundsRandomFloatsToNearest) { expect_random_right<Float16>(kHalf); }
TEST(BFloat16, RoundsRandomFloatsToNearest) { expect_random_right<BFloat16>(kBFloat); }

TEST(Float16, KnownValues) {
  static_assert(Float16(1.0f).bits == 0x3c00);
  static_assert(Float16(-2.0f).bits == 0xc000);
  static_assert(Float16(65504.0f).bits == 0x7bff);
  static_assert(Float16(65519.996f).bits == 0x7bff);
  static_assert(Float16(65520.0f).bits == 0x7c00);
  static_assert(Float16(0x1p-24f).bits == 1);
  static_assert(Float16(0x1p-25f).bits == 0);
  static_assert(Float16(0x1.000002p-25f).bits == 1);
  static_assert(Float16(-0.0f).bits == 0x8000);
  static_assert(static_cast<float>(Float16(0.333251953125f)) == 0.333251953125f);
}

TEST(BFloat16, KnownValues) {
  static_assert(BFloat16(1.0f).bits == 0x3f80);
  static_assert(BFloat16(1.00390625f).bits == 0x3f80);
  static_assert(BFloat16(1.01171875f).bits == 0x3f82);
  static_assert(BFloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
  static_assert(BFloat16(-0.0f).bits == 0x8000);
}

TEST(Float16, NanKeepsSignAndUpperBitsAndIsQuiet) {
  EXPECT_EQ(Float16(std::bit_cast<float>(0x7f800001u)).bits, 0x7e00);
  EXPECT_EQ(Float16(std::bit_cast<float>(0xff802000u)).bits, 0xfe01);
  EXPECT_EQ(bits_of(static_cast<float>(from_bits<Float16>(0xfc01))), 0xffc02000u);
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0xff800001u)).bits, 0xffc0);
}

TEST(DType, NamesSayWhatTheTypesAre) {
  std::set<std::string_view> names;
  for (const DType type :
       {DType::kFloat32, DType::kFloat64, DType::kInt32, DType::kInt64, DType::kFloat16, DType::kBFloat16}) {
    EXPECT_TRUE(names.insert(name_of(type)).second) << name_of(type);
    EXPECT_EQ(accumulator_of(type), size_of(type) == 2 ? DType::kFloat32 : type);
    EXPECT_EQ(is_floating(type), name_of(type).find("float") != std::string_view::npos);
  }
}

TEST(DType, SizesAreThoseOfTheTypes) {
  EXPECT_EQ(size_of(dtype_of<float>()), sizeof(float));
  EXPECT_EQ(size_of(dtype_of<double>()), sizeof(double));
  EXPECT_EQ(size_of(dtype_of<std::int32_t>()), sizeof(std::int32_t));
  EXPECT_EQ(size_of(dtype_of<std::int64_t>()), sizeof(std::int64_t));
  EXPECT_EQ(size_of(dtype_of<Float16>()), sizeof(Float16));
  EXPECT_EQ(size_of(dtype_of<BFloat16>()), sizeof(BFloat16));
  EXPECT_THROW(size_of(static_cast<DType>(99)), InvalidArgument);
}

}  // namespace
}  // namespace starling
