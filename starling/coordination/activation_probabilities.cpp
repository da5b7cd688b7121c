#include "starling/coordination/activation_probabilities.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "starling/coordination/laplacian.h"
#include "starling/core/elementary.h"
#include "starling/core/error.h"

namespace starling::coordination {
namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using Index = Eigen::Index;

constexpr double kWantedGap = 1e-6;  // of the bound
constexpr double kUnconnected = 1e-10;
constexpr int kNewtonSteps = 100;
constexpr double kMostWork = 2e10;  // multiplications of all steps
constexpr double kSharper = 8;      // ratio of the weights of the goal in two stages
constexpr double kCentred = 0.05;   // half the squared decrement at which a stage is over

// A point on the way: a number below lambda_2(L(p)), and p in the interior of what is allowed.
struct Point {
  double level = 0;
  Vector p;
};

// What is known at a point: with A = L(p) - t I beside the vector of ones and S its inverse there.
struct Slack {
  Matrix inverse;  // S + 11'/n
  double trace = 0;
  Vector gains;  // tr(S L_j)
};

struct Problem {
  int ranks;
  const std::vector<Matching>& matchings;
  double total;  // the largest sum of p

  Index count() const { return static_cast<Index>(matchings.size()); }
  const Matching& matching(Index j) const { return matchings[static_cast<std::size_t>(j)]; }

  SymmetricMatrix laplacian(const Vector& p) const {
    return weighted_laplacian(ranks, matchings, {p.data(), matchings.size()});
  }

  double connectivity(const Vector& p) const { return eigenvalues(laplacian(p))[1]; }

  // The largest sum of q_j gains_j: the matchings with the largest gains are active all the time.
  double best_sum(const Vector& gains) const {
    std::vector<double> sorted(gains.begin(), gains.end());
    std::ranges::sort(sorted, std::greater<>());
    double left = total, sum = 0;
    for (const double gain : sorted) {
      const double q = std::clamp(left, 0.0, 1.0);
      sum += q * gain;
      left -= q;
    }
    return sum;
  }
};

// L(p) - t I with the eigenvalue 1 at the vector of ones; none if it is not positive definite.
std::optional<Eigen::LLT<Matrix>> factored(const Problem& problem, const Point& point) {
  const SymmetricMatrix laplacian = problem.laplacian(point.p);
  Matrix shifted = Eigen::Map<const Matrix>(laplacian.values.data(), problem.ranks, problem.ranks);
  shifted.diagonal().array() -= point.level;
  shifted.array() += (1 + point.level) / problem.ranks;
  Eigen::LLT<Matrix> cholesky(shifted);
  if (cholesky.info() != Eigen::Success) return {};
  return cholesky;
}

double log_determinant(const Eigen::LLT<Matrix>& cholesky) {
  double sum = 0;
  for (Index i = 0; i < cholesky.rows(); ++i) sum += 2 * natural_log(cholesky.matrixLLT()(i, i));
  return sum;
}

std::optional<Slack> slack_of(const Problem& problem, const Point& point) {
  const auto cholesky = factored(problem, point);
  if (!cholesky) return {};
  Slack slack{.inverse = Matrix::Identity(problem.ranks, problem.ranks),
              .gains = Vector::Zero(problem.count())};
  // By column: Eigen's order of sums for several columns depends on the caches of the processor.
  for (Index column = 0; column < problem.ranks; ++column) {
    Vector unit = slack.inverse.col(column);
    cholesky->solveInPlace(unit);
    slack.inverse.col(column) = unit;
  }
  slack.trace = slack.inverse.trace() - 1;
  const Matrix& s = slack.inverse;
  for (Index j = 0; j < problem.count(); ++j) {
    for (const auto& [a, b] : problem.matching(j)) slack.gains(j) += s(a, a) + s(b, b) - s(a, b) - s(b, a);
  }
  return slack;
}

// The barrier: weight * t + log det A + sum of the logarithms of all distances from the borders.
class Barrier {
 public:
  explicit Barrier(const Problem& problem) : problem_(problem) {}

  double weight = 1;

  // Minus infinity outside.
  double value(const Point& point) const {
    constexpr double kOutside = -std::numeric_limits<double>::infinity();
    const double left = problem_.total - point.p.sum();
    if (left <= 0 || point.p.minCoeff() <= 0 || point.p.maxCoeff() >= 1) return kOutside;
    const auto cholesky = factored(problem_, point);
    if (!cholesky) return kOutside;
    double sum = weight * point.level + log_determinant(*cholesky) + natural_log(left);
    for (const double p : point.p) sum += natural_log(p) + natural_log(1 - p);
    return sum;
  }

  // By t, then by p.
  Vector gradient(const Point& point, const Slack& slack) const {
    Vector gradient(problem_.count() + 1);
    gradient(0) = weight - slack.trace;
    const double left = problem_.total - point.p.sum();
    for (Index j = 0; j < problem_.count(); ++j) {
      gradient(j + 1) = slack.gains(j) + 1 / point.p(j) - 1 / (1 - point.p(j)) - 1 / left;
    }
    return gradient;
  }

  // Minus the second derivatives of log det A, which are those of (-tr S, tr S L_j).
  Matrix curvature_of_determinant(const Slack& slack) const {
    const Index count = problem_.count();
    Matrix curvature = Matrix::Zero(count + 1, count + 1);
    curvature(0, 0) = slack.inverse.squaredNorm() - 1;
    for (Index j = 0; j < count; ++j) {
      Vector mixed = Vector::Zero(count + 1);
      for (const Edge& edge : problem_.matching(j)) add_edge(slack, edge, mixed);
      curvature(j + 1, 0) = -mixed(0);
      curvature.row(j + 1).tail(count) = mixed.tail(count);
    }
    curvature.row(0).tail(count) = curvature.col(0).tail(count);
    return curvature;
  }

  // The same for the other logarithms.
  Matrix curvature_of_borders(const Point& point) const {
    const Index count = problem_.count();
    const double left = problem_.total - point.p.sum();
    Matrix curvature = Matrix::Zero(count + 1, count + 1);
    curvature.bottomRightCorner(count, count).array() += 1 / (left * left);
    for (Index j = 0; j < count; ++j) {
      const double p = point.p(j);
      curvature(j + 1, j + 1) += 1 / (p * p) + 1 / ((1 - p) * (1 - p));
    }
    return curvature;
  }

 private:
  // Adds |S b|^2 and, for all matchings, the sum of (b' S c)^2, where b and c are the differences of the two
  // unit vectors of this edge and of theirs.
  void add_edge(const Slack& slack, const Edge& edge, Vector& mixed) const {
    const Vector column = slack.inverse.col(edge.first) - slack.inverse.col(edge.second);
    mixed(0) += column.squaredNorm();
    for (Index j = 0; j < problem_.count(); ++j) {
      double sum = 0;
      for (const auto& [a, b] : problem_.matching(j)) {
        const double difference = column(a) - column(b);
        sum += difference * difference;
      }
      mixed(j + 1) += sum;
    }
  }

  const Problem& problem_;
};

// Follows the central path from p_j = budget, reduced a little.
class CentralPath {
 public:
  CentralPath(const Problem& problem, const Vector& uniform, double connectivity, double bound)
      : problem_(problem), barrier_(problem), point_{0.45 * connectivity, 0.9 * uniform}, bound_(bound) {
    barrier_.weight = static_cast<double>(problem.ranks + 2 * problem.count()) / connectivity;
  }

  // Returns what could not be improved by more than the wanted gap, or is reached after so many steps.
  Vector follow(int steps) {
    while (steps > 0 && bound_ - point_.level > kWantedGap * bound_) {
      while (steps > 0 && !centred()) --steps;
      barrier_.weight *= kSharper;
      --steps;
    }
    const double factor = problem_.total / point_.p.sum();  // more of all is never worse
    return (factor * point_.p).cwiseMin(1.0);
  }

  double bound() const { return bound_; }

 private:
  // One step of Newton's method; true if it was so small that the stage is over.
  bool centred() {
    const Slack slack = *slack_of(problem_, point_);
    const Vector gradient = barrier_.gradient(point_, slack);
    const Matrix curvature = barrier_.curvature_of_determinant(slack);
    const Vector step = (curvature + barrier_.curvature_of_borders(point_)).ldlt().solve(gradient);
    const double gain = gradient.dot(step);
    if (gain < 1) bound_ = std::min(bound_, bound_after(slack, curvature * step));
    const double before = barrier_.value(point_);
    for (double length = 1; length > 1e-9; length /= 2) {
      const Point next{point_.level + length * step(0), point_.p + length * step.tail(problem_.count())};
      if (barrier_.value(next) < before + 0.25 * length * gain) continue;
      point_ = next;
      return gain <= 2 * kCentred;
    }
    return true;  // no step makes it better: this is as near as the numbers allow
  }

  // The bound of the matrix S - S (L(dp) - dt I) S instead of S, for the step (dt, dp). It is positive
  // definite where the gain of the step is below 1, and nearer to the best one than S is.
  double bound_after(const Slack& slack, const Vector& change) const {
    return problem_.best_sum(slack.gains - change.tail(problem_.count())) / (slack.trace + change(0));
  }

  const Problem& problem_;
  Barrier barrier_;
  Point point_;
  double bound_;
};

int affordable_steps(const Problem& problem) {
  const auto ranks = static_cast<double>(problem.ranks);
  double edges = 0;
  for (const Matching& matching : problem.matchings) edges += static_cast<double>(matching.size());
  return static_cast<int>(
      std::min<double>(kNewtonSteps, kMostWork / (ranks * ranks * ranks + edges * edges / 2)));
}

}  // namespace

ActivationProbabilities activation_probabilities(int ranks, const std::vector<Matching>& matchings,
                                                 double budget) {
  const Problem problem{ranks, matchings, budget * static_cast<double>(matchings.size())};
  const Vector uniform = Vector::Constant(problem.count(), budget);
  const double connectivity = problem.connectivity(uniform);
  const auto answer = [](const Vector& p, double reached, double bound) {
    return ActivationProbabilities{{p.begin(), p.end()}, reached, std::max(reached, bound)};
  };
  if (budget >= 1) return answer(uniform, connectivity, connectivity);
  if (connectivity < kUnconnected * budget) return answer(uniform, 0, 0);
  const auto slack = slack_of(problem, {connectivity * (1 - 0.1 * kWantedGap), uniform});
  if (!slack) throw Error(concat("the Laplacian of ", ranks, " ranks has no lambda_2 of ", connectivity));
  const double bound = problem.best_sum(slack->gains) / slack->trace;
  if (bound - connectivity <= kWantedGap * bound) return answer(uniform, connectivity, bound);
  CentralPath path(problem, uniform, connectivity, bound);
  const Vector best = path.follow(affordable_steps(problem));
  const double reached = problem.connectivity(best);
  return reached > connectivity ? answer(best, reached, path.bound())
                                : answer(uniform, connectivity, path.bound());
}

}  // namespace starling::coordination
