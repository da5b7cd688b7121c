// The learning rate over the steps of a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace starling::optim {

struct Schedule {
  enum class Kind { kConstant, kStep, kCosine, kPolynomial };
  Kind kind = Kind::kConstant;
  double rate = 0.01;        // at its highest
  std::uint64_t warmup = 0;  // steps in which it grows linearly to `rate`
  std::uint64_t steps = 0;   // of the run; matters to all kinds but kConstant
  double power = 2;          // kPolynomial
  double end_rate = 0;       // kPolynomial: that of the step after the last

  // The rate in the step of this number, counted from 1. kStep: a tenth after half of the steps, a hundredth
  // after three quarters. kCosine: half a period of the cosine, from `rate` to 0, over the steps after the
  // warm-up. kPolynomial: (1 - done)^power of the way from `end_rate` up to `rate`, where `done` is the part
  // of the steps after the warm-up that are over. It is that of MLPerf's reference, where the last step of a
  // warm-up has the full rate: a warm-up of W steps there is one of W - 1 here.
  double at(std::uint64_t step) const;
};

// A warm-up whose length may be known only when the steps of an epoch are.
struct WarmUp {
  std::uint64_t steps = 0;
  double epochs = 0;  // added to the steps

  // The steps of it, rounded.
  std::uint64_t length(std::uint64_t epoch_steps) const;
  bool operator==(const WarmUp&) const = default;
};

// "200", "5epochs" or "0.5epochs". InvalidArgument naming `what` and what is allowed.
WarmUp parse_warmup(std::string_view text, std::string_view what);
// The inverse of it: "200", "5epochs".
std::string text_of(const WarmUp& warmup);

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
