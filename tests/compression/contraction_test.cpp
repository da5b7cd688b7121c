// How much of a vector each kind keeps, against values that were derived beforehand.
#include <gtest/gtest.h>

#include "starling/compression/topk.h"
#include "tests/compression/vectors.h"

namespace starling::compression {
namespace {

using testing::compressor;
using testing::gaussian;
using testing::relative_square;
using testing::there_and_back;

double gaussian_error(const std::string& text) {
  constexpr std::size_t kCount = 1 << 20;
  const std::vector<float> values = gaussian(kCount, 11);
  return relative_square(values, there_and_back(*compressor(text, plain_layout(kCount)), values));
}

TEST(Contraction, ErrorsOfIntegersOnGaussianBlocks) {
  EXPECT_NEAR(gaussian_error("int8:64"), 3.5e-5, 0.1e-5);
  EXPECT_NEAR(gaussian_error("int8:256"), 4.9e-5, 0.1e-5);
  EXPECT_NEAR(gaussian_error("int8:2048"), 6.8e-5, 0.15e-5);
  EXPECT_NEAR(gaussian_error("int8:64:stochastic"), 7.0e-5, 0.15e-5);
  EXPECT_NEAR(gaussian_error("int8:256:stochastic"), 9.8e-5, 0.2e-5);
  EXPECT_NEAR(gaussian_error("int4:32"), 0.0096, 0.0002);
  EXPECT_NEAR(gaussian_error("int4:64"), 0.0118, 0.0002);
  EXPECT_NEAR(gaussian_error("int4:128"), 0.0140, 0.0002);
  EXPECT_NEAR(gaussian_error("int4:64:stochastic"), 0.0234, 0.0004);
}

// One element of 127 steps, the others half a step: the worst case, 1 - Q^2 / (Q^2 + (B - 1) / 4).
TEST(Contraction, TheWorstBlockOfIntegers) {
  const auto worst = [](const std::string& text, std::size_t block, float most) {
    std::vector<float> values(block, 0.4999F);
    values[3] = most;
    return 1 - relative_square(values, there_and_back(*compressor(text, plain_layout(block)), values));
  };
  EXPECT_NEAR(worst("int8:64", 64, 127), 0.999024, 2e-6);
  EXPECT_NEAR(worst("int8:256", 256, 127), 0.996063, 5e-6);
  EXPECT_NEAR(worst("int4:32", 32, 7), 0.863436, 1e-4);
  EXPECT_NEAR(worst("int4:64", 64, 7), 0.756757, 2e-4);
}

// 12.7 always; 1.0 or 1.1 with .7 and .3; -3.3 or -3.4 with .7 and .3; 0 or .1 with .5 each.
TEST(Contraction, RandomRoundingHasTheRightMean) {
  const std::vector<float> values{12.7F, 1.03F, -3.33F, 0.05F};
  const auto one = compressor("int8:4:stochastic", plain_layout(4));
  constexpr int kDraws = 20000;
  std::vector<double> sums(4);
  std::vector<int> lower(4);
  for (int draw = 0; draw < kDraws; ++draw) {
    const std::vector<float> back = there_and_back(*one, values, static_cast<std::uint64_t>(draw));
    for (std::size_t i = 0; i < 4; ++i) sums[i] += static_cast<double>(back[i]);
    for (std::size_t i = 1; i < 4; ++i) lower[i] += std::abs(back[i]) < std::abs(values[i]) ? 1 : 0;
    EXPECT_NEAR(back[0], 12.7F, 1e-5F);
  }
  const std::vector<double> variance{0, 0.0021, 0.0021, 0.0025}, share{0, 0.7, 0.7, 0.5};
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_NEAR(sums[i] / kDraws, static_cast<double>(values[i]), 4 * std::sqrt(variance[i] / kDraws)) << i;
    EXPECT_NEAR(lower[i] / static_cast<double>(kDraws), share[i], 0.015) << i;
  }
}

TEST(Contraction, RandomPlacesKeepTheirShare) {
  const std::vector<float> values = gaussian(5000, 2);
  const auto one = compressor("randk:0.1", plain_layout(5000));
  double kept = 0;
  for (std::uint64_t number = 0; number < 400; ++number) {
    kept += 1 - relative_square(values, there_and_back(*one, values, number));
  }
  EXPECT_NEAR(kept / 400, 0.1, 0.001);
}

// Whatever the values are like: the places are those of a full sort, the first of equal ones.
TEST(Contraction, LargestAreExact) {
  for (const std::size_t count : {10U, 5000U, 100'000U}) {
    for (const int shape : {0, 1, 2, 3}) {
      std::vector<float> values = gaussian(count + 100, count);
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (shape == 1) values[i] = static_cast<float>(i % 7);           // equal ones
        if (shape == 2) values[i] = i % 1000 == 0 ? values[i] : 0.0F;    // nearly all are 0
        if (shape == 3) values[i] *= static_cast<float>(i) * values[i];  // at the end, and far apart
      }
      for (const double ratio : {0.001, 0.01, 0.3, 1.0}) {
        const std::size_t wanted = share_of(count, ratio);
        std::vector<std::uint32_t> order;
        for (std::size_t i = 50; i < 50 + count; ++i) order.push_back(static_cast<std::uint32_t>(i));
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
          return std::abs(values[a]) > std::abs(values[b]);
        });
        order.resize(wanted);
        std::sort(order.begin(), order.end());
        std::vector<std::uint32_t> found;
        find_largest(values, {50, 50 + count}, wanted, found);
        EXPECT_EQ(found, order) << count << " elements, shape " << shape << ", " << ratio;
      }
    }
  }
}

}  // namespace
}  // namespace starling::compression
