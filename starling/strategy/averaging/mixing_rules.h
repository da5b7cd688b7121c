// With which neighbours of a graph a worker mixes its model in a step, and with which weights:
//
//   x_i <- x_i + sum_j w_ij (x_j - x_i) over the active links
//
// All rules are symmetric, w_ij = w_ji, so the mean over all workers stays; and both ends of a link know from
// the graph and the step alone whether it is active.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "starling/coordination/activation.h"
#include "starling/coordination/topology.h"

namespace starling::strategy {

struct Link {
  Rank rank;
  double weight;

  friend bool operator==(const Link&, const Link&) = default;
};

// Belongs to one worker: a rule remembers what it has computed for the latest graph.
class MixingRule {
 public:
  virtual ~MixingRule() = default;

  // The links of the rank that are active in the step, in ascending order of their other ends.
  virtual std::vector<Link> links(const coordination::Graph& graph, Rank rank, std::uint64_t step) = 0;

  // Another worker's rule; what was computed for the latest graph need not be computed again.
  virtual std::unique_ptr<MixingRule> copy() const = 0;
};

// Every link in every step, w_ij = 1 / (1 + max(d_i, d_j)) (coordination/mixing.h).
class MetropolisRule final : public MixingRule {
 public:
  std::vector<Link> links(const coordination::Graph& graph, Rank rank, std::uint64_t step) override;
  std::unique_ptr<MixingRule> copy() const override { return std::make_unique<MetropolisRule>(*this); }
};

// Every link in every step with the same weight alpha = 2 / (lambda_2 + lambda_max) of the graph's Laplacian,
// which is the best for W = I - alpha L.
class LaplacianRule final : public MixingRule {
 public:
  explicit LaplacianRule(const coordination::Graph& graph);
  std::vector<Link> links(const coordination::Graph& graph, Rank rank, std::uint64_t step) override;
  std::unique_ptr<MixingRule> copy() const override { return std::make_unique<LaplacianRule>(*this); }

 private:
  struct Plan {
    coordination::Graph graph;
    double weight;
  };
  std::shared_ptr<const Plan> plan_;
};

// The links of the matchings that are active in a step (coordination/activation.h). Which ones those are is
// drawn from a seed that is the same in all runs, forked by the step.
class MatchaRule final : public MixingRule {
 public:
  MatchaRule(const coordination::Graph& graph, double budget);
  std::vector<Link> links(const coordination::Graph& graph, Rank rank, std::uint64_t step) override;
  std::unique_ptr<MixingRule> copy() const override { return std::make_unique<MatchaRule>(*this); }

  // For the latest graph.
  const std::vector<coordination::Matching>& matchings() const { return plan_->matchings; }
  const coordination::Activation& activation() const { return plan_->activation; }

 private:
  struct Plan {
    coordination::Graph graph;
    std::vector<coordination::Matching> matchings;
    coordination::Activation activation;
  };
  static std::shared_ptr<const Plan> plan(const coordination::Graph& graph, double budget);

  double budget_;
  std::shared_ptr<const Plan> plan_;
};

// Whether each of the matchings is active in a step.
std::vector<bool> active_matchings(const coordination::Activation& activation, std::uint64_t step);

}  // namespace starling::strategy
