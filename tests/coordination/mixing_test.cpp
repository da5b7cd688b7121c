#include "starling/coordination/mixing.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <string>

#include "starling/core/error.h"
#include "starling/core/random.h"

namespace starling::coordination {
namespace {

// All rows. A lost rank keeps its value: its row has only the diagonal.
Eigen::MatrixXd matrix_of(const Graph& graph, const Group& lost = {}) {
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(graph.size(), graph.size());
  for (Rank rank = 0; rank < graph.size(); ++rank) {
    const bool is_lost = std::find(lost.begin(), lost.end(), rank) != lost.end();
    const MixingRow row = is_lost ? MixingRow{} : metropolis(graph, rank, lost);
    matrix(rank, rank) = row.self;
    for (std::size_t k = 0; k < row.weights.size(); ++k) {
      matrix(rank, graph.neighbours(rank)[k]) = row.weights[k];
    }
  }
  return matrix;
}

// The second largest of the absolute values.
double second_eigenvalue(const Graph& graph) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(matrix_of(graph));
  std::vector<double> values;
  for (const double value : solver.eigenvalues()) values.push_back(std::fabs(value));
  std::sort(values.rbegin(), values.rend());
  EXPECT_NEAR(values[0], 1, 1e-12);
  return values[1];
}

void expect_doubly_stochastic(const Eigen::MatrixXd& matrix, const std::string& label) {
  EXPECT_EQ(matrix, matrix.transpose()) << label;
  EXPECT_GE(matrix.minCoeff(), 0) << label;
  EXPECT_NEAR((matrix.rowwise().sum().array() - 1).abs().maxCoeff(), 0, 1e-14) << label;
}

// A random tree, so that it is connected, and further edges.
Graph random_graph(Random& random, int n) {
  std::vector<Edge> edges;
  for (Rank b = 1; b < n; ++b) {
    const Rank parent = random.between(0, b - 1);
    for (Rank a = 0; a < b; ++a) {
      if (a == parent || random.chance(0.2)) edges.emplace_back(a, b);
    }
  }
  return {n, edges};
}

// Degrees 3, 5, 2, 4, 1, 2, 3, 4.
Graph uneven_graph() {
  return {8,
          {{1, 5}, {6, 7}, {0, 4}, {2, 3}, {1, 7}, {3, 6}, {1, 0}, {3, 7}, {5, 6}, {1, 2}, {7, 0}, {3, 1}}};
}

TEST(Mixing, IsDoublyStochasticOnAllGraphs) {
  for (int n = 1; n <= 33; ++n) {
    for (const std::string name : {"ring", "torus", "hypercube", "exponential", "complete"}) {
      if (name == "hypercube" && (n & (n - 1)) != 0) continue;
      expect_doubly_stochastic(matrix_of(make_graph(name, n)), concat(name, " of ", n));
    }
  }
}

TEST(Mixing, IsDoublyStochasticOnRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const Graph graph = random_graph(random, random.between(1, 24));
    expect_doubly_stochastic(matrix_of(graph), concat("seed ", seed));
    if (graph.size() == 1) continue;
    EXPECT_LT(second_eigenvalue(graph), 1 - 1e-6) << "seed " << seed;
  }
}

TEST(Mixing, StaysDoublyStochasticWithoutTheLost) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const Graph graph = random_graph(random, random.between(2, 24));
    Group lost;
    for (Rank rank = 0; rank < graph.size(); ++rank) {
      if (random.chance(0.3)) lost.push_back(rank);
    }
    const Eigen::MatrixXd matrix = matrix_of(graph, lost);
    expect_doubly_stochastic(matrix, concat("seed ", seed));
    for (const Rank rank : lost) EXPECT_EQ(matrix(rank, rank), 1) << "seed " << seed;
  }
}

TEST(Mixing, GivesTheWeightOfTheLostToTheRankItself) {
  const Graph ring = ring_graph(8);
  const MixingRow whole = metropolis(ring, 3);
  EXPECT_EQ(whole.weights, (std::vector<double>{1.0 / 3, 1.0 / 3}));
  EXPECT_DOUBLE_EQ(whole.self, 1.0 / 3);

  const MixingRow left = metropolis(ring, 3, {4, 7});
  EXPECT_EQ(left.weights, (std::vector<double>{1.0 / 3, 0}));
  EXPECT_DOUBLE_EQ(left.self, 2.0 / 3);
  EXPECT_EQ(metropolis(ring, 3, {2, 4}), (MixingRow{1, {0, 0}}));
  EXPECT_EQ(metropolis(ring, 3, {}), whole);
  EXPECT_THROW(metropolis(ring, 3, {3}), InvalidArgument);
  EXPECT_THROW(metropolis(ring, 8), InvalidArgument);
}

TEST(Mixing, WeighsAnEdgeByTheLargerDegree) {
  const MixingRow row = metropolis(uneven_graph(), 0);  // neighbours 1, 4, 7 of degrees 5, 1, 4
  EXPECT_EQ(row.weights, (std::vector<double>{1.0 / 6, 1.0 / 4, 1.0 / 5}));
  EXPECT_NEAR(row.self, 23.0 / 60, 1e-15);
  EXPECT_EQ(metropolis(Graph(1, {}), 0), (MixingRow{1, {}}));
}

TEST(Mixing, TheCompleteGraphTakesThePlainMean) {
  for (int n = 1; n <= 12; ++n) {
    const Eigen::MatrixXd mean = Eigen::MatrixXd::Constant(n, n, 1.0 / n);
    EXPECT_LT((matrix_of(complete_graph(n)) - mean).cwiseAbs().maxCoeff(), 1e-15) << n;
  }
}

TEST(Mixing, HasTheKnownSecondEigenvalues) {
  EXPECT_NEAR(second_eigenvalue(ring_graph(8)), 0.80474, 5e-6);
  EXPECT_NEAR(second_eigenvalue(uneven_graph()), 0.8614, 5e-5);
  EXPECT_NEAR(second_eigenvalue(hypercube_graph(8)), 0.5, 1e-12);  // 1 - 2k / 4 for k = 0 to 3
  EXPECT_NEAR(second_eigenvalue(torus_graph(16)), 0.6, 1e-12);     // (1 + 2 + 0) / 5 and (1 - 2 - 2) / 5
}

}  // namespace
}  // namespace starling::coordination
