#include "starling/analysis/integral.h"

#include <algorithm>
#include <cmath>

namespace starling::analysis {

namespace {

// Of order 10, on [-1, 1]; the rule is symmetric.
constexpr Node kRule[] = {{0.1488743389816312, 0.2955242247147529},
                          {0.4333953941292472, 0.2692667193099963},
                          {0.6794095682990244, 0.2190863625159820},
                          {0.8650633666889845, 0.1494513491505806},
                          {0.9739065285171717, 0.0666713443086881}};

constexpr double kFar = 1.5;           // ends whose quotient is larger are far apart
constexpr double kSameCorner = 1e-12;  // relative

}  // namespace

std::vector<Node> nodes_between(std::span<const double> corners) {
  std::vector<Node> nodes;
  for (std::size_t i = 0; i + 1 < corners.size(); ++i) {
    const bool by_log = corners[i] > 0 && corners[i + 1] > kFar * corners[i];
    const double begin = by_log ? std::log(corners[i]) : corners[i];
    const double end = by_log ? std::log(corners[i + 1]) : corners[i + 1];
    const double half = (end - begin) / 2;
    for (const Node& rule : kRule) {
      for (const double side : {-1.0, 1.0}) {
        const double place = begin + half * (1 + side * rule.at);
        const double at = by_log ? std::exp(place) : place;
        nodes.push_back({at, half * rule.weight * (by_log ? at : 1)});
      }
    }
  }
  return nodes;
}

std::vector<double> corners_from(double lowest, std::vector<double> corners) {
  std::sort(corners.begin(), corners.end());
  std::vector<double> kept{lowest};
  for (const double corner : corners) {
    if (corner > kept.back() + kSameCorner * std::max(corner, lowest)) kept.push_back(corner);
  }
  return kept;
}

}  // namespace starling::analysis
