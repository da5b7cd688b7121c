// Integrals by the rule of Gauss and Legendre, panel by panel.
#pragma once

#include <span>
#include <vector>

namespace starling::analysis {

// Where an integrand is evaluated, and how much that weighs.
struct Node {
  double at = 0;
  double weight = 0;
};

// For integrals from the first corner to the last, over functions that are smooth between neighbours. Corners
// increase. A panel whose ends are far apart is integrated over the logarithm, so that tails like powers are
// smooth too.
std::vector<Node> nodes_between(std::span<const double> corners);

template <class Function>
double integral(std::span<const Node> nodes, Function&& function) {
  double sum = 0;
  for (const Node& node : nodes) sum += node.weight * function(node.at);
  return sum;
}

// Sorted, without those below `lowest` and without repetitions; `lowest` comes first.
std::vector<double> corners_from(double lowest, std::vector<double> corners);

}  // namespace starling::analysis
