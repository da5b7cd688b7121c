// A problem of two workers whose steps can be worked out by hand.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "starling/sim/workload.h"

namespace starling::testing {

// Two parameters; the gradient of worker i is A_i (x - t_i), element by element. Starts at (1, -1).
class TwoTargets final : public sim::Workload {
 public:
  const std::vector<strategy::Section>& sections() const override { return sections_; }
  std::size_t batch() const override { return 1; }
  void initialize(std::span<float> x, Random&) const override {
    x[0] = 1;
    x[1] = -1;
  }
  double gradient(Rank worker, std::span<const float> x, std::span<float> gradient, std::size_t,
                  Random&) const override {
    constexpr float kCurvature[2][2] = {{1, 2}, {2, 0.5F}};
    constexpr float kTarget[2][2] = {{0.5F, 0}, {-0.5F, 1}};
    for (std::size_t i = 0; i < 2; ++i) gradient[i] = kCurvature[worker][i] * (x[i] - kTarget[worker][i]);
    return 0;
  }
  sim::Evaluation evaluate(std::span<const float>) const override { return {}; }

 private:
  std::vector<strategy::Section> sections_{{"first", 0, 1}, {"second", 1, 1}};
};

}  // namespace starling::testing
