#include "starling/coordination/activation.h"

#include <Eigen/Core>
#include <algorithm>
#include <iterator>

#include "starling/coordination/activation_probabilities.h"
#include "starling/coordination/laplacian.h"
#include "starling/core/error.h"

namespace starling::coordination {
namespace {

constexpr int kSearchSteps = 40;  // of which each leaves 0.618 of the interval

// The same matchings among the ranks that have links, renumbered from 0 in the same order.
struct LinkedRanks {
  int count = 0;
  std::vector<Matching> matchings;
};

LinkedRanks linked_ranks(std::vector<Matching> matchings) {
  Group ranks;
  for (const Matching& matching : matchings) {
    for (const auto& [a, b] : matching) ranks.insert(ranks.end(), {a, b});
  }
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  if (std::ssize(ranks) > kMostPlannedRanks) {
    throw InvalidArgument(concat("a plan from eigenvalues for a graph of ", ranks.size(),
                                 " ranks; allowed: at most ", kMostPlannedRanks));
  }
  const auto number = [&](Rank rank) {
    return static_cast<Rank>(std::ranges::lower_bound(ranks, rank) - ranks.begin());
  };
  for (Matching& matching : matchings) {
    for (auto& [a, b] : matching) a = number(a), b = number(b);
  }
  return {static_cast<int>(ranks.size()), std::move(matchings)};
}

double best_fixed_weight(const SymmetricMatrix& laplacian) {
  const std::vector<double> spectrum = eigenvalues(laplacian);
  return 2 / (spectrum[1] + spectrum.back());
}

// rho as a function of alpha.
class Contraction {
 public:
  Contraction(const LinkedRanks& linked, const std::vector<double>& probabilities)
      : mean_(weighted_laplacian(linked.count, linked.matchings, probabilities)) {
    std::vector<double> variances;
    variances.reserve(probabilities.size());
    for (const double p : probabilities) variances.push_back(p * (1 - p));
    square_ = weighted_laplacian(linked.count, linked.matchings, variances);
    const Eigen::Map<const Eigen::MatrixXd> mean(mean_.values.data(), linked.count, linked.count);
    Eigen::Map<Eigen::MatrixXd> square(square_.values.data(), linked.count, linked.count);
    // Coefficient by coefficient: the order of sums in a blocked product depends on the processor's caches.
    square = 2 * square + mean.lazyProduct(mean);
  }

  // The matrix has no negative eigenvalue, so the largest is the norm.
  double at(double weight) const {
    const auto size = static_cast<std::size_t>(mean_.size);
    SymmetricMatrix matrix = square_;
    for (std::size_t i = 0; i < matrix.values.size(); ++i) {
      const double diagonal = i % (size + 1) == 0 ? 1 : 0;
      matrix.values[i] = weight * weight * square_.values[i] - 2 * weight * mean_.values[i] + diagonal -
                         1 / static_cast<double>(size);
    }
    return eigenvalues(matrix).back();
  }

  // Golden-section search. Beyond 2 / lambda_max(Lbar) the norm is above 1.
  double best_weight() const {
    constexpr double kGolden = 0.61803398874989485;
    double low = 0, high = 2 / eigenvalues(mean_).back();
    double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
    double at_left = at(left), at_right = at(right);
    for (int step = 0; step < kSearchSteps; ++step) {
      if (at_left <= at_right) {
        high = right;
        right = left;
        at_right = at_left;
        left = high - kGolden * (high - low);
        at_left = at(left);
      } else {
        low = left;
        left = right;
        at_left = at_right;
        right = low + kGolden * (high - low);
        at_right = at(right);
      }
    }
    return (low + high) / 2;
  }

 private:
  SymmetricMatrix mean_;    // Lbar
  SymmetricMatrix square_;  // Lbar^2 + 2 Ltilde
};

}  // namespace

Activation activation(const std::vector<Matching>& matchings, double budget) {
  if (!(budget > 0 && budget <= 1)) {
    throw InvalidArgument(concat("a budget of ", budget, "; allowed: above 0, at most 1"));
  }
  if (matchings.empty()) return {};
  const LinkedRanks linked = linked_ranks(matchings);
  const ActivationProbabilities found = activation_probabilities(linked.count, linked.matchings, budget);
  const Contraction contraction(linked, found.values);
  const double weight =
      budget < 1 ? contraction.best_weight()
                 : best_fixed_weight(weighted_laplacian(linked.count, linked.matchings, found.values));
  return {found.values, found.connectivity, found.bound, weight, contraction.at(weight)};
}

double laplacian_weight(const Graph& graph) {
  const LinkedRanks linked = linked_ranks({graph.edges()});
  if (linked.count == 0) return 0;
  return best_fixed_weight(weighted_laplacian(linked.count, linked.matchings, std::vector{1.0}));
}

}  // namespace starling::coordination
