// A bowl with a known bottom: the workload whose convergence can be computed by hand.
#pragma once

#include "starling/sim/workload.h"
#include "starling/sim/ziggurat.h"

namespace starling::sim {

// f(x) = 1/2 sum_j h_j (x_j - c_j)^2. The curvatures h_j grow geometrically from 0.1 to 1, so the condition
// number is 10; the optimum c is drawn from the seed, each element N(0, 1). A sample's gradient is h_j (x_j -
// c_j) + noise N(0, 1), the same for every worker. Starts at 0.
class Quadratic final : public Workload {
 public:
  explicit Quadratic(const WorkloadSetting& setting);

  std::span<const float> optimum() const { return optimum_; }
  std::span<const float> curvature() const { return curvature_; }

  const std::vector<strategy::Section>& sections() const override { return sections_; }
  std::size_t batch() const override { return batch_; }
  void initialize(std::span<float> x, Random& random) const override;

  // The noise of n samples is drawn once, with deviation noise / sqrt(n); without noise `random` stays as it
  // is. The loss is f(x), without noise.
  double gradient(Rank worker, std::span<const float> x, std::span<float> gradient, std::size_t samples,
                  Random& random) const override;

  Evaluation evaluate(std::span<const float> x) const override;

 private:
  double noise_;
  std::size_t batch_;
  std::vector<strategy::Section> sections_;
  std::vector<float> curvature_;
  std::vector<float> optimum_;
  Ziggurat normal_;
};

}  // namespace starling::sim
