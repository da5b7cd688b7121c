// The sizes and times of a real model, without its numbers.
#pragma once

#include "starling/sim/replay_tables.h"
#include "starling/sim/workload.h"

namespace starling::sim {

// A tensor's forward time is its operations times the batch over the model's speed; its backward time is
// twice that, once for the gradient of the input and once for that of the weight.
class Replay final : public Workload {
 public:
  // batch 0: the model's own.
  Replay(const ReplayModel& model, std::size_t batch);

  const std::vector<strategy::Section>& sections() const override { return sections_; }
  std::size_t batch() const override { return batch_; }
  bool ghost() const override { return true; }
  std::optional<StepTimes> times() const override { return times_; }

  // These throw Error.
  void initialize(std::span<float> x, Random& random) const override;
  double gradient(Rank worker, std::span<const float> x, std::span<float> gradient, std::size_t samples,
                  Random& random) const override;
  Evaluation evaluate(std::span<const float> x) const override;

 private:
  std::size_t batch_;
  std::vector<strategy::Section> sections_;
  StepTimes times_;
};

}  // namespace starling::sim
