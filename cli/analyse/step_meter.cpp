#include "cli/analyse/step_meter.h"

#include <algorithm>
#include <utility>

#include "starling/core/error.h"

namespace starling::cli {

StepMeter::StepMeter(std::size_t batch, MeterWindow window)
    : batch_(batch), window_(std::move(window)), states_(window_.first.size()) {}

void StepMeter::initialize(std::span<float> x, Random& /*random*/) const { std::ranges::fill(x, 0.0F); }

double StepMeter::gradient(Rank worker, std::span<const float> /*x*/, std::span<float> gradient,
                           std::size_t samples, Random& /*random*/) const {
  states_[static_cast<std::size_t>(worker)].samples += static_cast<double>(samples);
  std::ranges::fill(gradient, -1.0F);
  return 1;
}

sim::Evaluation StepMeter::evaluate(std::span<const float> /*x*/) const {
  return {complete_ == states_.size() ? 0.0 : 1.0, {}};
}

void StepMeter::step_begins(Rank worker, std::uint64_t step, Time now, Models models) {
  const auto rank = static_cast<std::size_t>(worker);
  State& state = states_[rank];
  state.begun = now;
  const MeteredWorker here{seconds_of(now.time_since_epoch()), static_cast<double>(step), state.samples,
                           state.computing, static_cast<double>(models[rank][0])};
  if (step == window_.first[rank]) state.at_first = here;
  if (step != window_.last[rank]) return;
  state.at_last = here;
  state.complete = true;
  ++complete_;
}

void StepMeter::step_computed(Rank worker, std::uint64_t /*step*/, Time now) {
  State& state = states_[static_cast<std::size_t>(worker)];
  state.computing += seconds_of(now - state.begun);
}

std::vector<MeteredWorker> StepMeter::measured() const {
  std::vector<MeteredWorker> workers;
  for (const State& state : states_) {
    if (!state.complete) throw Error("a simulated worker did not come to the end of its steps");
    const MeteredWorker &a = state.at_first, &b = state.at_last;
    workers.push_back({b.seconds - a.seconds, b.steps - a.steps, b.samples - a.samples,
                       b.computing - a.computing, b.versions - a.versions});
  }
  return workers;
}

}  // namespace starling::cli
