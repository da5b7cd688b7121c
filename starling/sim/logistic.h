// Logistic regression on generated data: convex, with samples that belong to workers.
#pragma once

#include "starling/sim/shards.h"
#include "starling/sim/workload.h"

namespace starling::sim {

// Mean over the samples (a, y) of ln(1 + exp(-y a.x)) plus 1e-4/2 |x|^2. The features of 2,048 samples, more
// if there are more workers, are N(0, 1); the label y is the side of a hidden plane on which a lies, and the
// wrong one for 5 % of the samples. A worker draws from its own slice. Starts at 0.
class Logistic final : public Workload {
 public:
  explicit Logistic(const WorkloadSetting& setting);

  const Shards& shards() const { return shards_; }

  const std::vector<strategy::Section>& sections() const override { return sections_; }
  std::size_t batch() const override { return batch_; }
  void initialize(std::span<float> x, Random& random) const override;
  double gradient(Rank worker, std::span<const float> x, std::span<float> gradient, std::size_t samples,
                  Random& random) const override;
  Evaluation evaluate(std::span<const float> x) const override;

 private:
  std::span<const float> features(std::size_t sample) const {
    return std::span(features_).subspan(sample * parameters_, parameters_);
  }

  std::size_t parameters_;
  std::size_t batch_;
  std::vector<strategy::Section> sections_;
  Shards shards_;
  std::vector<float> features_;  // sample by sample
  std::vector<float> labels_;    // -1 or 1
};

}  // namespace starling::sim
