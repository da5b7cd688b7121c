// The kernels on arbitrary bit patterns: the same bits from every instruction set, and conversions equal to
// those of dtype.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>
#include <vector>

#include "starling/core/combine.h"
#include "starling/core/random.h"
#include "tests/core/all_kernels.h"

namespace starling {
namespace {

using detail::all_kernels;
using detail::Kernels;
using ByteVector = std::vector<std::byte>;

// Every exponent is equally likely, so about one in 256 floats is subnormal, and one infinite or NaN.
ByteVector random_patterns(std::size_t bytes, Random& random) {
  ByteVector data(bytes);
  for (std::byte& value : data) value = static_cast<std::byte>(random.next() >> 56);
  return data;
}

// Neighbouring exponents, so that sums round instead of dropping the smaller term.
template <class T>
ByteVector random_numbers(std::size_t count, Random& random) {
  ByteVector data(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(static_cast<float>(random.normal()));
    std::memcpy(data.data() + i * sizeof(T), &value, sizeof(T));
  }
  return data;
}

// Which NaN an operation on two of them yields is the compiler's choice of the operands' order.
template <class T>
bool same(T a, T b) {
  if constexpr (!std::is_integral_v<T>) {
    const auto x = static_cast<double>(static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(a));
    const auto y = static_cast<double>(static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(b));
    if (x != x && y != y) return true;
  }
  using Pattern = std::array<std::byte, sizeof(T)>;
  return std::bit_cast<Pattern>(a) == std::bit_cast<Pattern>(b);
}

template <class T>
void expect_same(const ByteVector& a, const ByteVector& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t at = 0; at < a.size(); at += sizeof(T)) {
    T x, y;
    std::memcpy(&x, a.data() + at, sizeof(T));
    std::memcpy(&y, b.data() + at, sizeof(T));
    ASSERT_TRUE(same(x, y)) << "element " << at / sizeof(T);
  }
}

template <class T>
class CombineBits : public testing::Test {
 protected:
  // Runs both instruction sets on the same sources.
  static void compare(const std::vector<ByteVector>& sources, const Combine& how) {
    std::vector<const std::byte*> pointers;
    pointers.reserve(sources.size());
    for (const ByteVector& source : sources) pointers.push_back(source.data());
    std::vector<ByteVector> results;
    for (const Kernels* kernels : all_kernels()) {
      results.emplace_back(sources[0].size());
      kernels->combine({dtype_of<T>(), how.op, how.weights.empty() ? nullptr : how.weights.data(),
                        how.divisor, results.back().data(), pointers.data(), pointers.size(),
                        sources[0].size() / sizeof(T)});
    }
    expect_same<T>(results.front(), results.back());
  }
};

using Types = testing::Types<float, double, std::int32_t, std::int64_t, Float16, BFloat16>;
TYPED_TEST_SUITE(CombineBits, Types);

TYPED_TEST(CombineBits, DoNotDependOnTheInstructionSet) {
  using T = TypeParam;
  if (detail::avx2_kernels() == nullptr) GTEST_SKIP() << "no AVX2 in this build or on this machine";
  constexpr std::size_t kCount = 20001;
  Random random(11);
  for (std::size_t count = 1; count <= 5; ++count) {
    std::vector<ByteVector> wild, tame;
    std::vector<double> weights;
    for (std::size_t s = 0; s < count; ++s) {
      wild.push_back(random_patterns(kCount * sizeof(T), random));
      tame.push_back(random_numbers<T>(kCount, random));
      weights.push_back(random.normal());
    }
    for (const std::vector<ByteVector>& sources : {wild, tame}) {
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax}) {
        this->compare(sources, {.op = op});
      }
      if (!is_floating(dtype_of<T>())) continue;
      this->compare(sources, {.weights = weights, .divisor = 1.7});
    }
  }
}

template <class T>
void expect_conversions_of(const Kernels& kernels, const std::vector<float>& floats) {
  std::vector<T> narrow(floats.size());
  kernels.convert(DType::kFloat32, reinterpret_cast<const std::byte*>(floats.data()), dtype_of<T>(),
                  reinterpret_cast<std::byte*>(narrow.data()), floats.size());
  for (std::size_t i = 0; i < floats.size(); ++i) {
    ASSERT_EQ(narrow[i].bits, T(floats[i]).bits)
        << kernels.name << " " << std::bit_cast<std::uint32_t>(floats[i]);
  }
  std::vector<T> patterns(65536);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i].bits = static_cast<std::uint16_t>(i);
  std::vector<float> wide(patterns.size());
  kernels.convert(dtype_of<T>(), reinterpret_cast<const std::byte*>(patterns.data()), DType::kFloat32,
                  reinterpret_cast<std::byte*>(wide.data()), patterns.size());
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const auto expected = std::bit_cast<std::uint32_t>(static_cast<float>(patterns[i]));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), expected) << kernels.name << " " << i;
  }
}

// NaN patterns included: here the bits must agree.
TEST(Convert, EqualsTheScalarConversionsBitByBit) {
  std::vector<float> floats;
  for (std::uint64_t bits = 0; bits <= 0xffffffff; bits += 4099) {
    floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {  // ties and their neighbours of both formats
    for (const std::uint32_t lower :
         {0x0000, 0x0001, 0x0fff, 0x1000, 0x1001, 0x3000, 0x7fff, 0x8000, 0x8001}) {
      floats.push_back(std::bit_cast<float>((upper << 16) | lower));
    }
  }
  for (const Kernels* kernels : all_kernels()) {
    expect_conversions_of<Float16>(*kernels, floats);
    expect_conversions_of<BFloat16>(*kernels, floats);
  }
}

TEST(Convert, HandlesEveryCountAndNoAlignment) {
  Random random(12);
  for (std::size_t count = 0; count <= 70; ++count) {
    ByteVector narrow = random_numbers<Float16>(count, random);
    narrow.insert(narrow.begin(), std::byte{0});
    ByteVector wide(count * 4 + 2, std::byte{0x5a}), back(count * 2 + 3, std::byte{0x5a}), copy = narrow;
    convert(DType::kFloat16, narrow.data() + 1, DType::kFloat32, wide.data() + 1, count);
    convert(DType::kFloat32, wide.data() + 1, DType::kFloat16, back.data() + 2, count);
    convert(DType::kFloat16, narrow.data() + 1, DType::kFloat16, copy.data() + 1, count);
    EXPECT_TRUE(std::equal(narrow.begin() + 1, narrow.end(), back.begin() + 2));
    EXPECT_EQ(narrow, copy);
    EXPECT_EQ(wide.back(), std::byte{0x5a});
    EXPECT_EQ(back.back(), std::byte{0x5a});
  }
}

}  // namespace
}  // namespace starling
