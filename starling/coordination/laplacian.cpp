#include "starling/coordination/laplacian.h"

#include <Eigen/Eigenvalues>

namespace starling::coordination {

SymmetricMatrix weighted_laplacian(int ranks, const std::vector<Matching>& matchings,
                                   std::span<const double> weights) {
  const auto size = static_cast<std::size_t>(ranks);
  SymmetricMatrix sum{ranks, std::vector<double>(size * size)};
  const auto at = [&](Rank row, Rank column) -> double& {
    return sum.values[static_cast<std::size_t>(row) * size + static_cast<std::size_t>(column)];
  };
  for (std::size_t j = 0; j < matchings.size(); ++j) {
    for (const auto& [a, b] : matchings[j]) {
      at(a, a) += weights[j];
      at(b, b) += weights[j];
      at(a, b) -= weights[j];
      at(b, a) -= weights[j];
    }
  }
  return sum;
}

std::vector<double> eigenvalues(const SymmetricMatrix& matrix) {
  const Eigen::Map<const Eigen::MatrixXd> values(matrix.values.data(), matrix.size, matrix.size);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(values, Eigen::EigenvaluesOnly);
  return {solver.eigenvalues().begin(), solver.eigenvalues().end()};
}

}  // namespace starling::coordination
