#include "starling/sim/mlp.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "starling/core/elementary.h"

namespace starling::sim {
namespace {

constexpr std::size_t kMlpSamples = 1024;
constexpr std::size_t kMlpBatch = 16;
constexpr std::size_t kInputs = 16;
constexpr std::size_t kHidden = 32;
constexpr std::size_t kClasses = 4;
constexpr double kRingWidth = 0.15;  // of the points around their ring; the rings' radii are 1, 2, 3, 4

// Matrices row by row, one row per unit.
constexpr std::size_t kHiddenWeight = 0;
constexpr std::size_t kHiddenBias = kHiddenWeight + kHidden * kInputs;
constexpr std::size_t kOutputWeight = kHiddenBias + kHidden;
constexpr std::size_t kOutputBias = kOutputWeight + kClasses * kHidden;
constexpr std::size_t kParameters = kOutputBias + kClasses;

std::size_t class_of(std::size_t sample) { return sample % kClasses; }

using Point = std::array<double, 2>;

// A normal pair has no preferred direction; only its length is replaced.
Point point_near_ring(double radius, Random& random) {
  Point point = {random.normal(), random.normal()};
  const double length = std::sqrt(point[0] * point[0] + point[1] * point[1]);
  const double wanted = radius + kRingWidth * random.normal();
  for (double& coordinate : point) coordinate *= wanted / length;
  return point;
}

}  // namespace

struct Mlp::Pass {
  std::array<double, kHidden> hidden;
  std::array<double, kClasses> probability;
  double loss;
};

Mlp::Mlp(const WorkloadSetting& setting)
    : batch_(setting.batch == 0 ? kMlpBatch : setting.batch),
      sections_{{"hidden.weight", kHiddenWeight, kHidden * kInputs, false, kHidden},
                {"hidden.bias", kHiddenBias, kHidden, true},
                {"output.weight", kOutputWeight, kClasses * kHidden, false, kClasses},
                {"output.bias", kOutputBias, kClasses, true}},
      shards_(kMlpSamples, setting.workers) {
  generate(setting.seed);
}

// Sample s belongs to ring s % 4, so every slice has its share of each. The map is linear with a bend: a
// feature is tanh(m . point + shift).
void Mlp::generate(std::uint64_t seed) {
  struct Axis {
    Point direction;
    double shift;
  };
  Random random(seed);
  std::array<Axis, kInputs> axes;
  for (Axis& axis : axes) axis = {{random.normal(), random.normal()}, random.normal()};
  features_.reserve(shards_.samples() * kInputs);
  for (std::size_t sample = 0; sample < shards_.samples(); ++sample) {
    const Point point = point_near_ring(static_cast<double>(class_of(sample)) + 1, random);
    for (const Axis& axis : axes) {
      const double along = axis.direction[0] * point[0] + axis.direction[1] * point[1];
      features_.push_back(static_cast<float>(hyperbolic_tangent(along + axis.shift)));
    }
  }
}

void Mlp::initialize(std::span<float> x, Random& random) const {
  check_sizes(x.size(), kParameters, 1);
  std::fill(x.begin(), x.end(), 0.0F);
  const auto draw = [&](std::size_t offset, std::size_t units, std::size_t inputs) {
    const double deviation = 1 / std::sqrt(static_cast<double>(inputs));
    for (float& weight : x.subspan(offset, units * inputs)) {
      weight = static_cast<float>(deviation * random.normal());
    }
  };
  draw(kHiddenWeight, kHidden, kInputs);
  draw(kOutputWeight, kClasses, kHidden);
}

Mlp::Pass Mlp::forward(std::size_t sample, std::span<const float> x) const {
  Pass pass;
  const float* input = features_.data() + sample * kInputs;
  for (std::size_t unit = 0; unit < kHidden; ++unit) {
    double sum = x[kHiddenBias + unit];
    const float* weight = x.data() + kHiddenWeight + unit * kInputs;
    for (std::size_t i = 0; i < kInputs; ++i) sum += static_cast<double>(weight[i]) * input[i];
    pass.hidden[unit] = hyperbolic_tangent(sum);
  }
  for (std::size_t unit = 0; unit < kClasses; ++unit) {
    double sum = x[kOutputBias + unit];
    const float* weight = x.data() + kOutputWeight + unit * kHidden;
    for (std::size_t i = 0; i < kHidden; ++i) sum += weight[i] * pass.hidden[i];
    pass.probability[unit] = sum;
  }
  // Less the largest, so that the exponentials cannot overflow.
  const double largest = *std::max_element(pass.probability.begin(), pass.probability.end());
  const double own = pass.probability[class_of(sample)] - largest;
  double total = 0;
  for (double& value : pass.probability) total += value = natural_exp(value - largest);
  for (double& value : pass.probability) value /= total;
  pass.loss = natural_log(total) - own;
  return pass;
}

void Mlp::backward(std::size_t sample, std::span<const float> x, const Pass& pass,
                   std::span<double> sum) const {
  std::array<double, kHidden> back = {};
  for (std::size_t unit = 0; unit < kClasses; ++unit) {
    const double error = pass.probability[unit] - (unit == class_of(sample) ? 1 : 0);
    const std::size_t row = kOutputWeight + unit * kHidden;
    for (std::size_t i = 0; i < kHidden; ++i) {
      sum[row + i] += error * pass.hidden[i];
      back[i] += error * x[row + i];
    }
    sum[kOutputBias + unit] += error;
  }
  const float* input = features_.data() + sample * kInputs;
  for (std::size_t unit = 0; unit < kHidden; ++unit) {
    const double error = back[unit] * (1 - pass.hidden[unit] * pass.hidden[unit]);
    const std::size_t row = kHiddenWeight + unit * kInputs;
    for (std::size_t i = 0; i < kInputs; ++i) sum[row + i] += error * input[i];
    sum[kHiddenBias + unit] += error;
  }
}

double Mlp::gradient(Rank worker, std::span<const float> x, std::span<float> gradient, std::size_t samples,
                     Random& random) const {
  check_sizes(x.size(), gradient.size(), samples);
  std::array<double, kParameters> sum = {};
  double loss = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    const std::size_t sample = shards_.draw(worker, random);
    const Pass pass = forward(sample, x);
    loss += pass.loss;
    backward(sample, x, pass, sum);
  }
  const auto count = static_cast<double>(samples);
  for (std::size_t i = 0; i < kParameters; ++i) gradient[i] = static_cast<float>(sum[i] / count);
  return loss / count;
}

Evaluation Mlp::evaluate(std::span<const float> x) const {
  check_sizes(x.size(), kParameters, 1);
  double loss = 0;
  std::size_t right = 0;
  for (std::size_t sample = 0; sample < shards_.samples(); ++sample) {
    const Pass pass = forward(sample, x);
    loss += pass.loss;
    const auto best = std::max_element(pass.probability.begin(), pass.probability.end());
    right += best == pass.probability.begin() + static_cast<std::ptrdiff_t>(class_of(sample));
  }
  const auto count = static_cast<double>(shards_.samples());
  return {loss / count, static_cast<double>(right) / count};
}

}  // namespace starling::sim
