// A small neural network on generated data: not convex, with several tensors.
#pragma once

#include "starling/sim/shards.h"
#include "starling/sim/workload.h"

namespace starling::sim {

// Mean cross-entropy of softmax(W2 tanh(W1 a + b1) + b2), 16 inputs, 32 hidden units, 4 classes. The 1,024
// samples, more if there are more workers, are points near four rings around each other in the plane, lifted
// into 16 dimensions by a random map; the ring is the class. A worker draws from its own slice.
class Mlp final : public Workload {
 public:
  explicit Mlp(const WorkloadSetting& setting);

  const Shards& shards() const { return shards_; }

  const std::vector<strategy::Section>& sections() const override { return sections_; }
  std::size_t batch() const override { return batch_; }

  // Weights N(0, 1 / inputs of the unit), biases 0.
  void initialize(std::span<float> x, Random& random) const override;

  double gradient(Rank worker, std::span<const float> x, std::span<float> gradient, std::size_t samples,
                  Random& random) const override;
  Evaluation evaluate(std::span<const float> x) const override;

 private:
  struct Pass;  // the activations of a sample

  void generate(std::uint64_t seed);
  Pass forward(std::size_t sample, std::span<const float> x) const;
  void backward(std::size_t sample, std::span<const float> x, const Pass& pass, std::span<double> sum) const;

  std::size_t batch_;
  std::vector<strategy::Section> sections_;
  Shards shards_;
  std::vector<float> features_;  // sample by sample
};

}  // namespace starling::sim
