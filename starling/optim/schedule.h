// The learning rate over the steps of a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace starling::optim {

struct Schedule {
  enum class Kind { kConstant, kStep, kCosine };
  Kind kind = Kind::kConstant;
  double rate = 0.01;        // at its highest
  std::uint64_t warmup = 0;  // steps in which it grows linearly to `rate`
  std::uint64_t steps = 0;   // of the run; matters to kStep and kCosine

  // The rate in the step of this number, counted from 1. kStep: a tenth after half of the steps, a hundredth
  // after three quarters. kCosine: half a period of the cosine, from `rate` to 0, over the steps after the
  // warm-up.
  double at(std::uint64_t step) const;
};

// The number of the step that equal workers would be at when the run has come to this batch, counted from 0
// over all passes. Where each worker takes the next batch when it is ready, the fast ones make more steps
// than the run has for each: the place in the data tells how far the run is.
inline std::uint64_t step_at_batch(std::uint64_t batch, int workers) {
  return batch / static_cast<std::uint64_t>(workers) + 1;
}

// "cosine"
std::string_view name_of(Schedule::Kind kind);
// InvalidArgument naming `what` and the names.
Schedule::Kind parse_schedule(std::string_view text, std::string_view what);

}  // namespace starling::optim
