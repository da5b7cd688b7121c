// The first and second moments of gradients that Adam and LAMB keep:
//   m = m + (1 - beta1) * (g - m)
//   v = beta2 * v + (1 - beta2) * g^2
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "starling/optim/state_vector.h"

namespace starling::optim {

class Moments {
 public:
  struct Pair {
    float first = 0;
    float second = 0;
  };

  Moments(double beta1, double beta2, std::size_t count)
      : beta1_(beta1), beta2_(beta2), first_(count), second_(count) {}

  void advance() {
    ++steps_;
    beta1_power_ *= beta1_;
    beta2_power_ *= beta2_;
  }
  std::uint64_t steps() const { return steps_; }
  // Multiplies as often as advance() would have, for the same bits.
  void set_steps(std::uint64_t steps) {
    steps_ = 0;
    beta1_power_ = beta2_power_ = 1;
    while (steps_ < steps) advance();
  }

  // 1 - beta^t, by which the moments are too small after t steps.
  double correction1() const { return 1 - beta1_power_; }
  double correction2() const { return 1 - beta2_power_; }

  std::size_t size() const { return first_.span().size(); }
  std::vector<std::span<float>> state() { return {first_.span(), second_.span()}; }

  // Computes the moments of an element after a gradient, and stores them if told to. A value, so that a loop
  // over elements has its numbers at hand.
  class Rule {
   public:
    explicit Rule(const Moments& moments)
        : fresh1_(static_cast<float>(1 - moments.beta1_)),
          beta2_(static_cast<float>(moments.beta2_)),
          fresh2_(static_cast<float>(1 - moments.beta2_)),
          first_(moments.first_.span().data()),
          second_(moments.second_.span().data()) {}

    Pair after(std::size_t i, float gradient) const {
      return {lerp(first_[i], gradient, fresh1_), second_[i] * beta2_ + fresh2_ * gradient * gradient};
    }
    Pair store(std::size_t i, float gradient) {
      const Pair moments = after(i, gradient);
      first_[i] = moments.first;
      second_[i] = moments.second;
      return moments;
    }

   private:
    // torch.lerp: counts from the nearer end, so that a weight of 1 gives `to` exactly.
    static float lerp(float from, float to, float weight) {
      return weight < 0.5f ? from + weight * (to - from) : to - (to - from) * (1 - weight);
    }

    float fresh1_, beta2_, fresh2_;
    float* first_;
    float* second_;
  };

 private:
  double beta1_;
  double beta2_;
  StateVector first_;
  StateVector second_;
  std::uint64_t steps_ = 0;
  // beta^t by multiplication: libm's pow may differ between machines.
  double beta1_power_ = 1;
  double beta2_power_ = 1;
};

}  // namespace starling::optim
