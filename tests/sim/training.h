// Common parts of the tests of the workloads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "starling/core/random.h"
#include "starling/sim/workload.h"

namespace starling::sim {

inline WorkloadSetting setting_for(int workers) {
  WorkloadSetting setting;
  setting.workers = workers;
  return setting;
}

struct Gradient {
  double loss = 0;
  std::vector<float> values;
};

// The gradient of a batch that depends on the seed only.
inline Gradient gradient_at(const Workload& work, const std::vector<float>& x, std::uint64_t seed = 1,
                            Rank worker = 0) {
  Gradient result;
  result.values.resize(work.parameters());
  Random random(seed);
  result.loss = work.gradient(worker, x, result.values, work.batch(), random);
  return result;
}

inline std::vector<float> initial(const Workload& work, std::uint64_t seed = 1) {
  std::vector<float> x(work.parameters());
  Random random(seed);
  work.initialize(x, random);
  return x;
}

// Plain SGD, the workers in turn.
inline std::vector<float> train(const Workload& work, int workers, int steps, double rate) {
  std::vector<float> x = initial(work);
  std::vector<float> gradient(x.size());
  Random random(2);
  for (int step = 0; step < steps; ++step) {
    work.gradient(step % workers, x, gradient, work.batch(), random);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= static_cast<float>(rate) * gradient[i];
  }
  return x;
}

// Largest difference between the gradient and central differences of the loss of the same batch. The losses
// are computed in double, and as x lies on a grid of 2^-10, both x + 2^-12 and x - 2^-12 are exact floats.
inline double gradient_error(const Workload& work, std::vector<float> x) {
  constexpr float kStep = 0x1p-12F;
  for (float& value : x) value = std::round(value * 0x1p10F) * 0x1p-10F;
  const Gradient exact = gradient_at(work, x);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float middle = x[i];
    x[i] = middle + kStep;
    const double above = gradient_at(work, x).loss;
    x[i] = middle - kStep;
    const double below = gradient_at(work, x).loss;
    x[i] = middle;
    worst = std::max(worst, std::fabs((above - below) / (2.0 * kStep) - exact.values[i]));
  }
  return worst;
}

inline std::vector<float> random_model(const Workload& work, double deviation) {
  std::vector<float> x(work.parameters());
  Random random(3);
  for (float& value : x) value = static_cast<float>(deviation * random.normal());
  return x;
}

}  // namespace starling::sim
