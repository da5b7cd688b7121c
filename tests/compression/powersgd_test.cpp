#include "starling/compression/powersgd.h"

#include <gtest/gtest.h>

#include "tests/compression/vectors.h"

namespace starling::compression {
namespace {

using testing::gaussian;
using testing::relative_square;
using testing::there_and_back;

constexpr std::size_t kRows = 40, kColumns = 50;
const Layout kMatrix{{{0, kRows* kColumns}, kRows}};

// A sum of so many outer products.
std::vector<float> of_rank(std::size_t rank, std::uint64_t seed) {
  std::vector<float> matrix(kRows * kColumns);
  for (std::size_t k = 0; k < rank; ++k) {
    const std::vector<float> a = gaussian(kRows, seed + 2 * k), b = gaussian(kColumns, seed + 2 * k + 1);
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kColumns; ++j) matrix[i * kColumns + j] += a[i] * b[j];
    }
  }
  return matrix;
}

// As the workers of an all-reduce do it: the mean of their left sides, then of their right sides.
std::vector<float> mean_of(std::vector<PowerSgd>& workers, const std::vector<std::vector<float>>& matrices) {
  const auto count = static_cast<float>(workers.size());
  std::vector<float> left(workers.front().left_count()), right(workers.front().right_count());
  for (std::size_t w = 0; w < workers.size(); ++w) {
    std::vector<float> own(left.size());
    workers[w].make_left(matrices[w], own);
    for (std::size_t i = 0; i < left.size(); ++i) left[i] += own[i] / count;
  }
  workers.front().orthonormalise_left(left);
  for (std::size_t w = 0; w < workers.size(); ++w) {
    std::vector<float> own(right.size());
    workers[w].make_right(matrices[w], left, own);
    for (std::size_t i = 0; i < right.size(); ++i) right[i] += own[i] / count;
  }
  for (PowerSgd& worker : workers) worker.start_from(right);
  std::vector<float> result(matrices.front().size());
  workers.front().expand(left, right, 1, result);
  return result;
}

TEST(PowerSgd, IsExactForMatricesOfThatRank) {
  for (const std::size_t rank : {1U, 2U, 4U}) {
    PowerSgd one(kMatrix, rank, 5);
    const std::vector<float> matrix = of_rank(rank, 100 * rank);
    EXPECT_LT(relative_square(matrix, there_and_back(one, matrix)), 1e-10) << rank;
  }
}

TEST(PowerSgd, MeanOfWorkersIsExactForAMeanOfThatRank) {
  const std::vector<float> common = of_rank(2, 7), opposite = gaussian(kRows * kColumns, 9);
  std::vector<std::vector<float>> matrices{common, common};
  for (std::size_t i = 0; i < common.size(); ++i) {
    matrices[0][i] += opposite[i];
    matrices[1][i] -= opposite[i];
  }
  std::vector<PowerSgd> workers(2, PowerSgd(kMatrix, 2, 5));
  EXPECT_LT(relative_square(common, mean_of(workers, matrices)), 1e-9);
}

// |M - P P^T M|^2 = |M|^2 - |P^T M|^2
TEST(PowerSgd, IsAProjection) {
  PowerSgd one(kMatrix, 3, 5);
  const std::vector<float> matrix = gaussian(kRows * kColumns, 4);
  const std::vector<float> back = there_and_back(one, matrix);
  double all = 0, kept = 0;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    all += static_cast<double>(matrix[i]) * static_cast<double>(matrix[i]);
    kept += static_cast<double>(back[i]) * static_cast<double>(back[i]);
  }
  EXPECT_NEAR(relative_square(matrix, back), (all - kept) / all, 1e-6);
}

// The error of the best approximation of rank 1 of this matrix is 1 / (4 + 1).
TEST(PowerSgd, AWarmStartFindsTheLargestSingularValue) {
  std::vector<float> matrix(kRows * kColumns);
  matrix[0] = 2;
  matrix[kColumns + 1] = 1;
  PowerSgd one(kMatrix, 1, 5);
  double error = 0;
  for (int step = 0; step < 30; ++step) error = relative_square(matrix, there_and_back(one, matrix));
  EXPECT_NEAR(error, 0.2, 1e-6);
}

TEST(PowerSgd, AfterZerosItBeginsAnew) {
  PowerSgd one(kMatrix, 2, 5);
  const std::vector<float> matrix = of_rank(2, 3), zeros(matrix.size());
  EXPECT_EQ(there_and_back(one, zeros), zeros);
  EXPECT_EQ(there_and_back(one, zeros), zeros);
  EXPECT_LT(relative_square(matrix, there_and_back(one, matrix)), 1e-10);
}

// What would not become twice as small is sent as it is.
TEST(PowerSgd, SmallTensorsAreExact) {
  PowerSgd one(Layout{{{0, 20}, 4}, {{20, 50}, 1}}, 2, 5);
  const std::vector<float> values = gaussian(50, 8);
  EXPECT_EQ(one.right_count(), 0U);
  EXPECT_EQ(there_and_back(one, values), values);
}

}  // namespace
}  // namespace starling::compression
