// What the workers of a simulated run have done between two of their steps.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "starling/sim/simulation.h"

namespace starling::cli {

// Of one worker, from the begin of a step to that of a later one.
struct MeteredWorker {
  double seconds = 0;
  double steps = 0;
  double samples = 0;    // of its gradients, whether they were used or not
  double computing = 0;  // seconds
  double versions = 0;   // by which its model has changed
};

// Begin and end are given by worker, in steps of its own.
struct MeterWindow {
  std::vector<std::uint64_t> first, last;
};

// A workload without mathematics: a model of one parameter that grows by 1 with every update, so that it
// counts versions. Its loss falls from 1 to 0 when all workers have come to the ends of their windows. It is
// of one run only, and observes that.
class StepMeter final : public sim::Workload, public sim::Observer {
 public:
  StepMeter(std::size_t batch, MeterWindow window);

  // Error if a worker has not come to the end of its window.
  std::vector<MeteredWorker> measured() const;

  const std::vector<strategy::Section>& sections() const override { return sections_; }
  std::size_t batch() const override { return batch_; }
  void initialize(std::span<float> x, Random& random) const override;
  double gradient(Rank worker, std::span<const float> x, std::span<float> gradient, std::size_t samples,
                  Random& random) const override;
  sim::Evaluation evaluate(std::span<const float> x) const override;

  void step_begins(Rank worker, std::uint64_t step, Time now, Models models) override;
  void step_computed(Rank worker, std::uint64_t step, Time now) override;

 private:
  struct State {
    MeteredWorker at_first, at_last;
    Time begun{};
    double samples = 0;
    double computing = 0;
    bool complete = false;
  };

  std::vector<strategy::Section> sections_{{"versions", 0, 1}};
  std::size_t batch_;
  MeterWindow window_;
  mutable std::vector<State> states_;  // a workload counts what it is asked for
  std::size_t complete_ = 0;
};

}  // namespace starling::cli
