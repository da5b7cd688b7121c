#include "starling/core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "starling/core/error.h"

namespace starling {
namespace {

static_assert(std::uniform_random_bit_generator<Random>);

// xoshiro256** whose state is the first four numbers of splitmix64(0), computed apart from this library.
TEST(Random, GivesThePublishedSequence) {
  Random zero(0);
  EXPECT_EQ(zero.next(), 0x99ec5f36cb75f2b4u);
  EXPECT_EQ(zero.next(), 0xbf6e1f784956452au);
  EXPECT_EQ(zero.next(), 0x1a5f849d4933e6e0u);
}

TEST(Random, SameSeedSameNumbers) {
  Random a(1), b(1), c(2);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t drawn = a();
    EXPECT_EQ(drawn, b.next());
    differs = differs || drawn != c.next();
  }
  EXPECT_TRUE(differs);
}

TEST(Random, BelowIsEven) {
  Random random(3);
  std::vector<int> counts(7);
  for (int i = 0; i < 70000; ++i) ++counts[random.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0u);
  EXPECT_THROW(random.below(0), InvalidArgument);
}

// A plain remainder would return the lowest third half of the time.
TEST(Random, BelowIsEvenForHugeRangesToo) {
  Random random(12);
  const std::uint64_t third = std::uint64_t{1} << 62;
  int lowest = 0;
  for (int i = 0; i < 30000; ++i) lowest += random.below(3 * third) < third;
  EXPECT_NEAR(lowest, 10000, 400);
}

TEST(Random, BetweenIncludesBothEnds) {
  Random random(4);
  std::set<int> seen;
  for (int i = 0; i < 200; ++i) seen.insert(random.between(-2, 2));
  EXPECT_EQ(seen, (std::set<int>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(random.between(5, 5), 5);
  EXPECT_NO_THROW(random.between(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
  EXPECT_THROW(random.between(1, 0), InvalidArgument);
}

struct Moments {
  double mean = 0;
  double variance = 0;
};

template <class Draw>
Moments moments(Draw draw) {
  constexpr int kDraws = 200000;
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = draw();
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  return {mean, squares / kDraws - mean * mean};
}

TEST(Random, UniformFillsTheUnitInterval) {
  Random random(5);
  const Moments found = moments([&] {
    const double value = random.uniform();
    EXPECT_GE(value, 0);
    EXPECT_LT(value, 1);
    return value;
  });
  EXPECT_NEAR(found.mean, 0.5, 0.005);
  EXPECT_NEAR(found.variance, 1.0 / 12, 0.002);
}

TEST(Random, NormalHasTheTailsOfTheBell) {
  Random random(6);
  int beyond_two = 0;
  const Moments found = moments([&] {
    const double value = random.normal();
    beyond_two += std::fabs(value) > 2;
    return value;
  });
  EXPECT_NEAR(found.mean, 0, 0.01);
  EXPECT_NEAR(found.variance, 1, 0.02);
  EXPECT_NEAR(beyond_two / 200000.0, 0.0455, 0.002);
}

// The logarithm inside is our own; here it meets the library's.
TEST(Random, ExponentialIsTheLogarithmOfUniform) {
  Random random(7);
  for (int i = 0; i < 100000; ++i) {
    Random same = random;
    const double expected = -3 * std::log1p(-same.uniform());
    EXPECT_NEAR(random.exponential(3), expected, 1e-15 + 1e-14 * expected);
  }
  const Moments found = moments([&] { return random.exponential(3); });
  EXPECT_NEAR(found.mean, 3, 0.05);
  EXPECT_NEAR(found.variance, 9, 0.3);
}

TEST(Random, ChanceKeepsItsProbability) {
  Random random(8);
  int hits = 0;
  for (int i = 0; i < 100000; ++i) {
    hits += random.chance(0.25);
    EXPECT_FALSE(random.chance(0));
    EXPECT_TRUE(random.chance(1));
  }
  EXPECT_NEAR(hits, 25000, 600);
}

TEST(Random, ShuffleReachesEveryOrder) {
  Random random(9);
  std::set<std::vector<int>> orders;
  for (int i = 0; i < 500; ++i) {
    std::vector<int> items = {0, 1, 2, 3};
    random.shuffle(items);
    orders.insert(items);
  }
  EXPECT_EQ(orders.size(), 24u);
  std::vector<int> none;
  random.shuffle(none);
  EXPECT_TRUE(none.empty());
}

TEST(Random, ForksAreIndependentAndDoNotAdvance) {
  Random parent(10), untouched(10);
  std::set<std::uint64_t> firsts;
  for (std::uint64_t stream = 0; stream < 1000; ++stream) firsts.insert(parent.fork(stream).next());
  EXPECT_EQ(firsts.size(), 1000u);
  EXPECT_EQ(parent.fork(3).next(), untouched.fork(3).next());
  EXPECT_EQ(parent.next(), untouched.next());
  EXPECT_NE(parent.fork(3).next(), Random(10).fork(3).next());
}

}  // namespace
}  // namespace starling
