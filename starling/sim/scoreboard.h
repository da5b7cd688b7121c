// The quality of the mean of the workers' models, over time.
#pragma once

#include <optional>
#include <vector>

#include "starling/record/loss_history.h"
#include "starling/sim/simulation.h"

namespace starling::sim {

class Scoreboard {
 public:
  // The models of the workers that are alive at the time of the call.
  using Models = std::vector<std::span<const float>>;

  explicit Scoreboard(const Simulation& simulation) : simulation_(simulation) {}

  // A worker finished a step. True if it is time to evaluate().
  bool count_step();
  void evaluate(Time now, const Models& models);

  // The target was reached, and the run is to end there.
  bool stop() const { return stop_; }

  // Writes the results into the record; replays have none.
  void finish(const Models& models, record::RunRecord& run);

 private:
  std::vector<float> mean_of(const Models& models) const;

  const Simulation& simulation_;
  std::uint64_t steps_ = 0;  // of all workers
  bool stop_ = false;
  std::optional<Duration> time_to_target_;
  record::LossHistory losses_;
};

}  // namespace starling::sim
