#include "starling/coordination/activation.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "starling/core/error.h"
#include "starling/core/random.h"

namespace starling::coordination {
namespace {

using Eigen::MatrixXd;

MatrixXd laplacian_of(const std::vector<Matching>& matchings, const std::vector<double>& weights, int n) {
  MatrixXd sum = MatrixXd::Zero(n, n);
  for (std::size_t j = 0; j < matchings.size(); ++j) {
    for (const auto& [a, b] : matchings[j]) {
      Eigen::VectorXd difference = Eigen::VectorXd::Zero(n);
      difference(a) = 1;
      difference(b) = -1;
      sum += weights[j] * difference * difference.transpose();
    }
  }
  return sum;
}

double lambda_2(const std::vector<Matching>& matchings, const std::vector<double>& weights, int n) {
  return Eigen::SelfAdjointEigenSolver<MatrixXd>(laplacian_of(matchings, weights, n)).eigenvalues()(1);
}

// The norm of E[W'W] - J by going through all subsets of the matchings.
double norm_over_all_subsets(const std::vector<Matching>& matchings, const Activation& plan, double weight,
                             int n) {
  MatrixXd mean = MatrixXd::Constant(n, n, -1.0 / n);
  for (unsigned subset = 0; subset < 1U << matchings.size(); ++subset) {
    double probability = 1;
    std::vector<double> active;
    for (std::size_t j = 0; j < matchings.size(); ++j) {
      active.push_back((subset >> j) & 1U);
      probability *= active.back() != 0 ? plan.probabilities[j] : 1 - plan.probabilities[j];
    }
    const MatrixXd mixing = MatrixXd::Identity(n, n) - weight * laplacian_of(matchings, active, n);
    mean += probability * mixing.transpose() * mixing;
  }
  return Eigen::SelfAdjointEigenSolver<MatrixXd>(mean).eigenvalues().cwiseAbs().maxCoeff();
}

std::vector<Matching> uneven_matchings() {
  return {{{1, 5}, {6, 7}, {0, 4}, {2, 3}},
          {{1, 7}, {3, 6}},
          {{0, 1}, {3, 7}, {5, 6}},
          {{1, 2}, {0, 7}},
          {{1, 3}}};
}

// Links of rows, then of columns; of each first those that begin at an even place.
std::vector<Matching> torus_matchings() {
  std::vector<Matching> matchings(4);
  for (Rank rank = 0; rank < 16; ++rank) {
    const int row = rank / 4, column = rank % 4;
    matchings[column % 2].emplace_back(rank, 4 * row + (column + 1) % 4);
    matchings[2 + row % 2].emplace_back(rank, (row + 1) % 4 * 4 + column);
  }
  return matchings;
}

// i and i + hop modulo 16: two matchings for each hop of 1, 2 and 4, one for 8.
std::vector<Matching> exponential_matchings() {
  std::vector<Matching> matchings;
  for (const int hop : {1, 2, 4}) {
    matchings.resize(matchings.size() + 2);
    for (Rank rank = 0; rank < 16; ++rank) {
      matchings[matchings.size() - 2 + static_cast<std::size_t>(rank / hop % 2)].emplace_back(
          rank, (rank + hop) % 16);
    }
  }
  matchings.emplace_back();
  for (Rank rank = 0; rank < 8; ++rank) matchings.back().emplace_back(rank, rank + 8);
  return matchings;
}

struct Known {
  std::string label;
  std::vector<Matching> matchings;
  double budget, connectivity;
  std::vector<double> probabilities;
  double weight, contraction;
};

std::vector<Known> known_plans() {
  const std::vector<Matching> uneven = uneven_matchings(), torus = torus_matchings();
  const std::vector<Matching> ring = disjoint_matchings(ring_graph(8)), exponential = exponential_matchings();
  const double a = .650438, b = .325219, c = .392574, d = .763536;
  return {
      {"uneven", uneven, 1, .670023, {1, 1, 1, 1, 1}, .285714, .653777},
      {"uneven", uneven, .5, .561202, {.9837, 0, .7581, .7581, 0}, .396430, .643975},
      {"uneven", uneven, .25, .280601, {.49187, 0, .37907, .37907, 0}, .553987, .816115},
      {"ring", ring, 1, .585786, {1, 1}, .436130, .554311},
      {"ring", ring, .5, .292893, {.5, .5}, .607369, .783905},
      {"ring", ring, .25, .146447, {.25, .25}, .607369, .911053},
      {"torus", torus, 1, 2, {1, 1, 1, 1}, 1.0 / 5, .36},
      {"torus", torus, .5, 1, {.5, .5, .5, .5}, 1.0 / 3, .555556},
      {"torus", torus, .25, .5, {.25, .25, .25, .25}, .5, .75},
      {"exponential", exponential, 1, 4, {1, 1, 1, 1, 1, 1, 1}, .141048, .189929},
      {"exponential", exponential, .5, 2.601754, {a, a, b, b, c, c, d}, .239523, .317083},
      {"exponential",
       exponential,
       .25,
       1.300877,
       {a / 2, a / 2, b / 2, b / 2, c / 2, c / 2, d / 2},
       .346335,
       .549461},
  };
}

Graph random_connected_graph(Random& random, int n) {
  std::vector<Edge> edges;
  const double share = random.uniform();
  for (Rank b = 1; b < n; ++b) {
    const Rank parent = random.between(0, b - 1);
    for (Rank a = 0; a < b; ++a) {
      if (a == parent || random.chance(share)) edges.emplace_back(a, b);
    }
  }
  return {n, edges};
}

TEST(Activation, KnownPlans) {
  for (const Known& known : known_plans()) {
    SCOPED_TRACE(concat(known.label, ", budget ", known.budget));
    const Activation found = activation(known.matchings, known.budget);
    EXPECT_NEAR(found.connectivity, known.connectivity, 2e-6);
    for (std::size_t j = 0; j < known.probabilities.size(); ++j) {
      EXPECT_NEAR(found.probabilities[j], known.probabilities[j], 2e-4);
    }
    EXPECT_NEAR(found.weight, known.weight, 2e-5);
    EXPECT_NEAR(found.contraction, known.contraction, 2e-5);
  }
}

// Our matchings of the exponential graph hold links of one length each, as those above; the torus is so
// symmetric that any four matchings do as well.
TEST(Activation, PlansOfOurOwnMatchings) {
  const auto torus = disjoint_matchings(torus_graph(16)),
             exponential = disjoint_matchings(exponential_graph(16));
  for (const Known& known : known_plans()) {
    if (known.label != "torus" && known.label != "exponential") continue;
    SCOPED_TRACE(concat(known.label, ", budget ", known.budget));
    const Activation found = activation(known.label == "torus" ? torus : exponential, known.budget);
    EXPECT_NEAR(found.connectivity, known.connectivity, 2e-6);
    EXPECT_NEAR(found.weight, known.weight, 2e-5);
    EXPECT_NEAR(found.contraction, known.contraction, 2e-5);
  }
  EXPECT_EQ(activation(torus, 0.5).probabilities, std::vector<double>(4, 0.5));
}

TEST(Activation, IsTheBestWithinItsBudget) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    Random random(seed);
    const int n = random.between(2, 16);
    const auto matchings = disjoint_matchings(random_connected_graph(random, n));
    const double budget = 0.05 + 0.95 * random.uniform();
    const Activation found = activation(matchings, budget);
    const double total = budget * static_cast<double>(matchings.size());
    EXPECT_LE(std::reduce(found.probabilities.begin(), found.probabilities.end()), total * (1 + 1e-12));
    EXPECT_GE(*std::ranges::min_element(found.probabilities), 0);
    EXPECT_LE(*std::ranges::max_element(found.probabilities), 1);
    EXPECT_NEAR(found.connectivity, lambda_2(matchings, found.probabilities, n), 1e-9);
    EXPECT_LE(found.bound - found.connectivity, 1e-5 * found.bound);
    for (int other = 0; other < 20; ++other) {
      std::vector<double> feasible;
      for (std::size_t j = 0; j < matchings.size(); ++j) feasible.push_back(random.uniform());
      const double sum = std::reduce(feasible.begin(), feasible.end());
      for (double& p : feasible) p *= std::min(1.0, total / sum);
      EXPECT_LE(lambda_2(matchings, feasible, n), found.bound * (1 + 1e-9));
    }
  }
}

TEST(Activation, ContractionIsTheSmallestNormOfTheMean) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    Random random(seed);
    const int n = random.between(2, 9);
    const auto matchings = disjoint_matchings(random_connected_graph(random, n));
    const Activation found = activation(matchings, 0.05 + 0.95 * random.uniform());
    EXPECT_NEAR(norm_over_all_subsets(matchings, found, found.weight, n), found.contraction, 1e-9);
    EXPECT_LT(found.contraction, 1);
    for (const double factor : {0.98, 1.02}) {
      EXPECT_GE(norm_over_all_subsets(matchings, found, factor * found.weight, n), found.contraction - 1e-9);
    }
  }
}

TEST(Activation, ContractsOnlyIfTheGraphIsConnected) {
  const Activation apart = activation(disjoint_matchings(Graph(6, {{0, 1}, {1, 2}, {3, 4}, {4, 5}})), 0.5);
  EXPECT_EQ(apart.connectivity, 0);
  EXPECT_NEAR(apart.contraction, 1, 1e-12);
  EXPECT_EQ(apart.probabilities, (std::vector<double>{0.5, 0.5}));
  EXPECT_TRUE(std::isfinite(apart.weight));
  EXPECT_LT(
      activation(disjoint_matchings(Graph(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}})), 0.5).contraction, 1);
}

TEST(Activation, LeavesOutRanksWithoutLinks) {
  const Graph closed = without_lost(ring_graph(10), {2, 7});
  for (const double budget : {0.25, 1.0}) {
    const Activation found = activation(disjoint_matchings(closed), budget);
    const Activation small = activation(disjoint_matchings(ring_graph(8)), budget);
    EXPECT_EQ(found.probabilities, small.probabilities);
    EXPECT_EQ(found.weight, small.weight);
    EXPECT_EQ(found.contraction, small.contraction);
  }
  EXPECT_EQ(laplacian_weight(closed), laplacian_weight(ring_graph(8)));
  EXPECT_EQ(laplacian_weight(Graph(3, {})), 0);
  EXPECT_TRUE(activation({}, 0.5).probabilities.empty());
}

TEST(Activation, WithTheWholeBudgetIsTheBestFixedWeight) {
  for (const std::string name : {"ring", "torus", "exponential", "complete"}) {
    for (int n = 2; n <= 17; ++n) {
      const Graph graph = make_graph(name, n);
      const Activation found = activation(disjoint_matchings(graph), 1);
      EXPECT_EQ(found.weight, laplacian_weight(graph)) << name << n;
      EXPECT_EQ(found.probabilities, std::vector<double>(found.probabilities.size(), 1.0)) << name << n;
    }
  }
  EXPECT_NEAR(laplacian_weight(ring_graph(8)), .436130, 1e-6);
  EXPECT_NEAR(laplacian_weight(complete_graph(8)), 1.0 / 8, 1e-12);
}

TEST(Activation, ReachesItsBoundOnLargerGraphs) {
  for (const char* const name : {"ring", "torus", "exponential", "hypercube", "complete"}) {
    for (const double budget : {0.1, 0.5, 0.9}) {
      const Activation found = activation(disjoint_matchings(make_graph(name, 64)), budget);
      EXPECT_LE(found.bound - found.connectivity, 1e-5 * found.bound) << name << " " << budget;
      EXPECT_LT(found.contraction, 1) << name << " " << budget;
    }
  }
}

// Recorded: all builds compare with the same numbers, and so do the workers of a run.
TEST(Activation, HasTheSameBitsInEveryBuild) {
  const Activation exponential = activation(disjoint_matchings(exponential_graph(64)), 0.5);
  const Activation torus = activation(disjoint_matchings(torus_graph(24)), 0.3);
  EXPECT_EQ(exponential.probabilities[0], 0x1.6be881bfb31f1p-1);
  EXPECT_EQ(exponential.probabilities[4], 0x1.b746ae94ecdcbp-2);
  EXPECT_EQ(exponential.weight, 0x1.59082d2188212p-3);
  EXPECT_EQ(exponential.contraction, 0x1.75ae552e97eep-2);
  EXPECT_EQ(torus.probabilities[0], 0x1.9999994ccccb4p-2);
  EXPECT_EQ(torus.probabilities[2], 0x1.99999a3333367p-3);
  EXPECT_EQ(torus.weight, 0x1.f5f5f5bcca0cep-2);
  EXPECT_EQ(torus.contraction, 0x1.99a3ad91d1f6cp-1);
}

TEST(Activation, RefusesWhatItCannotPlan) {
  const auto matchings = disjoint_matchings(ring_graph(4));
  for (const double budget : {0.0, -1.0, 1.5, std::nan("")}) {
    EXPECT_THROW(activation(matchings, budget), InvalidArgument) << budget;
  }
  EXPECT_THROW(activation(disjoint_matchings(ring_graph(kMostPlannedRanks + 1)), 0.5), InvalidArgument);
  EXPECT_THROW(laplacian_weight(ring_graph(kMostPlannedRanks + 1)), InvalidArgument);
}

}  // namespace
}  // namespace starling::coordination
