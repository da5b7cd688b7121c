#include "starling/core/combine.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "starling/core/error.h"
#include "starling/core/random.h"
#include "tests/core/all_kernels.h"

namespace starling {
namespace {

using detail::all_kernels;
using detail::Kernels;

// The type arithmetic is done in, so that integers wrap and 16-bit floats widen.
template <class T>
struct Accumulator {
  using Type = std::conditional_t<sizeof(T) == 2, float, T>;
};
template <>
struct Accumulator<std::int32_t> {
  using Type = std::uint32_t;
};
template <>
struct Accumulator<std::int64_t> {
  using Type = std::uint64_t;
};
template <class T>
using Wide = typename Accumulator<T>::Type;

template <class T>
T random_value(Random& random) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(random.next());
  return static_cast<T>(static_cast<Wide<T>>(random.normal() * std::exp2(random.between(-3, 3))));
}

constexpr std::byte kGuard{0x5a};

// `count` elements at an address that is `shift` bytes off any alignment, and a guard byte after them.
template <class T>
struct Vector {
  Vector(std::size_t count, std::size_t shift) : bytes(count * sizeof(T) + shift + 1, kGuard), start(shift) {}
  std::byte* data() { return bytes.data() + start; }
  T get(std::size_t i) {
    T value;
    std::memcpy(&value, data() + i * sizeof(T), sizeof(T));
    return value;
  }
  void set(std::size_t i, T value) { std::memcpy(data() + i * sizeof(T), &value, sizeof(T)); }

  std::vector<std::byte> bytes;
  std::size_t start;
};

template <class T>
T naive(const Combine& how, std::vector<Vector<T>>& sources, std::size_t i) {
  if (how.op != ReduceOp::kSum) {
    T best = sources[0].get(i);
    for (Vector<T>& source : sources) {
      const T next = source.get(i);
      const auto a = static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(best);
      const auto b = static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(next);
      if (how.op == ReduceOp::kMin ? b < a : a < b) best = next;
    }
    return best;
  }
  Wide<T> sum = 0;
  for (std::size_t s = 0; s < sources.size(); ++s) {
    auto next = static_cast<Wide<T>>(sources[s].get(i));
    if (!how.weights.empty()) next *= static_cast<Wide<T>>(how.weights[s]);
    sum = s == 0 ? next : sum + next;
  }
  if (how.divisor != 1) sum /= static_cast<Wide<T>>(how.divisor);
  return static_cast<T>(sum);
}

template <class T>
bool same_bits(T a, T b) {
  using ByteArray = std::array<std::byte, sizeof(T)>;
  return std::bit_cast<ByteArray>(a) == std::bit_cast<ByteArray>(b);
}

struct Shape {
  std::size_t count;
  std::size_t sources;
  std::size_t shift;
  bool alias;  // the result replaces the last source
};

template <class T>
void expect_naive(const Kernels& kernels, const Combine& how, const Shape& shape, Random& random) {
  std::vector<Vector<T>> sources;
  std::vector<const std::byte*> pointers;
  pointers.reserve(shape.sources);
  for (std::size_t s = 0; s < shape.sources; ++s) {
    sources.emplace_back(shape.count, shape.shift * (s + 1));
    for (std::size_t i = 0; i < shape.count; ++i) sources[s].set(i, random_value<T>(random));
  }
  for (Vector<T>& source : sources) pointers.push_back(source.data());
  std::vector<T> expected(shape.count);
  for (std::size_t i = 0; i < shape.count; ++i) expected[i] = naive(how, sources, i);

  Vector<T> separate(shape.count, shape.shift);
  Vector<T>& out = shape.alias ? sources.back() : separate;
  kernels.combine({dtype_of<T>(), how.op, how.weights.empty() ? nullptr : how.weights.data(), how.divisor,
                   out.data(), pointers.data(), pointers.size(), shape.count});
  for (std::size_t i = 0; i < shape.count; ++i) {
    ASSERT_TRUE(same_bits(out.get(i), expected[i]))
        << kernels.name << " " << name_of(dtype_of<T>()) << " op " << static_cast<int>(how.op) << " count "
        << shape.count << " sources " << shape.sources << " at " << i;
  }
  ASSERT_EQ(out.bytes.back(), kGuard) << "written past the end";
}

template <class T>
class CombineTyped : public testing::Test {};
using Types = testing::Types<float, double, std::int32_t, std::int64_t, Float16, BFloat16>;
TYPED_TEST_SUITE(CombineTyped, Types);

TYPED_TEST(CombineTyped, EqualsTheNaiveLoop) {
  Random random(1);
  std::vector<std::size_t> counts = {127, 128, 129, 1000, 1023, 1024, 1025, 4097};
  for (std::size_t count = 0; count <= 70; ++count) counts.push_back(count);
  for (const Kernels* kernels : all_kernels()) {
    for (const std::size_t count : counts) {
      for (std::size_t sources = 1; sources <= 9; ++sources) {
        const Shape shape = {count, sources, count % 4, count % 2 == 1};
        for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMin, ReduceOp::kMax}) {
          expect_naive<TypeParam>(*kernels, {.op = op}, shape, random);
        }
      }
    }
  }
}

TYPED_TEST(CombineTyped, WeighsAndDivides) {
  if constexpr (!std::is_integral_v<TypeParam>) {
    Random random(2);
    for (const Kernels* kernels : all_kernels()) {
      for (std::size_t sources = 1; sources <= 9; ++sources) {
        std::vector<double> weights(sources);
        for (double& weight : weights) weight = random.normal();
        for (const std::size_t count : {1, 31, 64, 77, 300}) {
          const Shape shape = {count, sources, 1, sources % 2 == 0};
          expect_naive<TypeParam>(*kernels, {.weights = weights}, shape, random);
          expect_naive<TypeParam>(*kernels, {.divisor = 3}, shape, random);
          expect_naive<TypeParam>(*kernels, {.weights = weights, .divisor = 0.1}, shape, random);
        }
      }
    }
  }
}

TYPED_TEST(CombineTyped, ScalesDividesAndAccumulatesInPlace) {
  using T = TypeParam;
  Random random(3);
  constexpr std::size_t kCount = 53;
  Vector<T> data(kCount, 3), other(kCount, 1);
  for (std::size_t i = 0; i < kCount; ++i) {
    data.set(i, random_value<T>(random));
    other.set(i, random_value<T>(random));
  }
  Vector<T> sum = data;
  accumulate(dtype_of<T>(), ReduceOp::kSum, sum.data(), other.data(), kCount);
  if constexpr (std::is_integral_v<T>) {
    EXPECT_THROW(scale(dtype_of<T>(), 2, data.data(), kCount), InvalidArgument);
    EXPECT_THROW(divide(dtype_of<T>(), 2, data.data(), kCount), InvalidArgument);
    EXPECT_THROW(divide(dtype_of<T>(), 1, data.data(), kCount), InvalidArgument);
  } else {
    Vector<T> scaled = data, divided = data;
    scale(dtype_of<T>(), 0.1, scaled.data(), kCount);
    divide(dtype_of<T>(), 3, divided.data(), kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto value = static_cast<Wide<T>>(data.get(i));
      EXPECT_TRUE(same_bits(scaled.get(i), static_cast<T>(value * static_cast<Wide<T>>(0.1))));
      EXPECT_TRUE(same_bits(divided.get(i), static_cast<T>(value / 3)));
    }
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto a = static_cast<Wide<T>>(data.get(i)), b = static_cast<Wide<T>>(other.get(i));
    EXPECT_TRUE(same_bits(sum.get(i), static_cast<T>(static_cast<Wide<T>>(a + b))));
  }
}

TYPED_TEST(CombineTyped, NothingToDoNeedsNoMemory) {
  const std::byte* const none[] = {nullptr, nullptr};
  combine(dtype_of<TypeParam>(), {}, nullptr, none, 0);
  accumulate(dtype_of<TypeParam>(), ReduceOp::kMin, nullptr, nullptr, 0);
  convert(dtype_of<TypeParam>(), nullptr, dtype_of<TypeParam>(), nullptr, 0);
}

TEST(Combine, MinAndMaxTakeTheNextSourceOnlyIfItIsBeyond) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float a[] = {nan, 1, 0.0f, -0.0f}, b[] = {1, nan, -0.0f, 0.0f};
  for (const ReduceOp op : {ReduceOp::kMin, ReduceOp::kMax}) {
    float out[4];
    std::memcpy(out, a, sizeof(a));
    accumulate(DType::kFloat32, op, reinterpret_cast<std::byte*>(out), reinterpret_cast<const std::byte*>(b),
               4);
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_EQ(out[1], 1);
    EXPECT_FALSE(std::signbit(out[2]));
    EXPECT_TRUE(std::signbit(out[3]));
  }
}

// Every length, and every place of the one that is not finite.
TEST(AllFinite, FindsOneAnywhere) {
  const float largest = std::numeric_limits<float>::max(), infinite = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (const detail::Kernels* kernels : detail::all_kernels()) {
    const auto finite = [&](const std::vector<float>& values) {
      return kernels->all_finite(reinterpret_cast<const std::byte*>(values.data()), values.size());
    };
    for (std::size_t count = 0; count < 70; ++count) {
      std::vector<float> values(count, -largest);
      EXPECT_TRUE(finite(values)) << kernels->name << ", " << count;
      for (std::size_t i = 0; i < count; ++i) {
        for (const float bad : {infinite, -infinite, nan, -nan}) {
          values[i] = bad;
          EXPECT_FALSE(finite(values)) << kernels->name << ", element " << i << " of " << count;
        }
        values[i] = std::numeric_limits<float>::denorm_min();
      }
    }
    std::vector<float> values(100'000, 1.0F);
    EXPECT_TRUE(finite(values));
    for (const std::size_t i : {std::size_t{0}, std::size_t{2047}, std::size_t{2048}, std::size_t{99'999}}) {
      values[i] = nan;
      EXPECT_FALSE(finite(values)) << kernels->name << ", element " << i;
      values[i] = 0;
    }
  }
  EXPECT_TRUE(all_finite({}));
}

TEST(Combine, RefusesWhatHasNoMeaning) {
  std::byte out[16] = {};
  const std::byte* const sources[] = {out, out};
  const double weights[] = {1, 2, 3};
  const std::span<const double> two(weights, 2), three(weights, 3);
  EXPECT_THROW(combine(DType::kFloat32, {}, out, {}, 1), InvalidArgument);
  EXPECT_THROW(combine(DType::kInt32, {.weights = two}, out, sources, 1), InvalidArgument);
  EXPECT_THROW(combine(DType::kInt64, {.divisor = 2}, out, sources, 1), InvalidArgument);
  EXPECT_THROW(combine(DType::kFloat32, {.weights = three}, out, sources, 1), InvalidArgument);
  EXPECT_THROW(combine(DType::kFloat32, {.op = ReduceOp::kMin, .weights = two}, out, sources, 1),
               InvalidArgument);
  EXPECT_THROW(combine(DType::kFloat32, {.op = ReduceOp::kMax, .divisor = 2}, out, sources, 1),
               InvalidArgument);
  EXPECT_THROW(convert(DType::kFloat16, out, DType::kBFloat16, out, 1), InvalidArgument);
  EXPECT_THROW(convert(DType::kFloat32, out, DType::kFloat64, out, 1), InvalidArgument);
  EXPECT_THROW(convert(DType::kInt32, out, DType::kFloat32, out, 1), InvalidArgument);
}

}  // namespace
}  // namespace starling
