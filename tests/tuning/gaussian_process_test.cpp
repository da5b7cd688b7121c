#include "starling/tuning/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/support/refusal.h"

namespace starling::tuning {
namespace {

using testing::refusal;

double matern(const Kernel& kernel, double distance) {
  const double s = std::sqrt(5.0) * std::fabs(distance) / kernel.length;
  return kernel.signal * (1 + s + s * s / 3) * std::exp(-s);
}

TEST(GaussianProcess, InterpolatesWithoutNoise) {
  const std::vector<double> places{0, 1, 2.5, 4}, values{0.3, -1, 2, 0.5};
  const GaussianProcess process(places, values, {.length = 1.5, .signal = 2, .noise = 0});
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_NEAR(process.predict(places[i]).mean, values[i], 1e-12);
    EXPECT_NEAR(process.predict(places[i]).deviation, 0, 1e-6);
  }
  EXPECT_GT(process.predict(3.2).deviation, 0.1);
}

TEST(GaussianProcess, FarAwayNothingIsKnown) {
  const std::vector<double> places{0}, values{5};
  const auto far = GaussianProcess(places, values, {.length = 1, .signal = 4, .noise = 0}).predict(1000);
  EXPECT_NEAR(far.mean, 0, 1e-12);
  EXPECT_NEAR(far.deviation, 2, 1e-12);
}

// mean = k y / (signal + noise), variance = signal - k^2 / (signal + noise)
TEST(GaussianProcess, OnePoint) {
  const Kernel kernel{.length = 2, .signal = 1.5, .noise = 0.25};
  const std::vector<double> places{1}, values{0.8};
  const GaussianProcess process(places, values, kernel);
  for (const double place : {1.0, 1.7, -3.0}) {
    const double k = matern(kernel, place - 1);
    EXPECT_NEAR(process.predict(place).mean, k * 0.8 / 1.75, 1e-14);
    EXPECT_NEAR(process.predict(place).deviation, std::sqrt(1.5 - k * k / 1.75), 1e-14);
  }
  EXPECT_NEAR(process.log_likelihood(), -0.5 * (0.64 / 1.75 + std::log(2 * std::numbers::pi * 1.75)), 1e-14);
}

// The inverse of [[a, b], [b, a]] is [[a, -b], [-b, a]] / (a^2 - b^2).
TEST(GaussianProcess, TwoPoints) {
  const Kernel kernel{.length = 0.7, .signal = 2, .noise = 0.1};
  const std::vector<double> places{0, 0.5}, values{1, -0.4};
  const GaussianProcess process(places, values, kernel);
  const double a = 2.1, b = matern(kernel, 0.5), determinant = a * a - b * b;
  const double first = (a * values[0] - b * values[1]) / determinant;
  const double second = (a * values[1] - b * values[0]) / determinant;
  for (const double place : {0.0, 0.2, 0.9}) {
    const double k = matern(kernel, place), l = matern(kernel, place - 0.5);
    EXPECT_NEAR(process.predict(place).mean, k * first + l * second, 1e-13);
    const double known = (a * (k * k + l * l) - 2 * b * k * l) / determinant;
    EXPECT_NEAR(process.predict(place).deviation, std::sqrt(2 - known), 1e-13);
  }
  const double fit = values[0] * first + values[1] * second;
  EXPECT_NEAR(process.log_likelihood(), -0.5 * (fit + std::log(determinant)) - std::log(2 * std::numbers::pi),
              1e-13);
}

TEST(GaussianProcess, FittedTellsNoiseFromSignal) {
  std::vector<double> places, smooth, ragged;
  for (int i = 0; i < 16; ++i) {
    places.push_back(i * 0.5);
    smooth.push_back(1.4 * std::sin(i * 0.4));
    ragged.push_back(i % 2 == 0 ? 1 : -1);
  }
  EXPECT_LE(GaussianProcess::fitted(places, smooth).kernel().noise, 1e-3);
  EXPECT_GE(GaussianProcess::fitted(places, ragged).kernel().noise, 0.3);
  EXPECT_NEAR(GaussianProcess::fitted(places, smooth).predict(3.25).mean, 1.4 * std::sin(2.6), 0.02);
}

TEST(GaussianProcess, Refusals) {
  const std::vector<double> none, one{1}, two{1, 1};
  EXPECT_EQ(refusal([&] { GaussianProcess(none, none, {}); }),
            "a Gaussian process of 0 places and 0 values; allowed: as many values as places, at least 1");
  EXPECT_EQ(refusal([&] { GaussianProcess(one, two, {}); }),
            "a Gaussian process of 1 places and 2 values; allowed: as many values as places, at least 1");
  EXPECT_EQ(refusal([&] { GaussianProcess(two, two, {}); }),
            "a Gaussian process of 2 places with noise 0; allowed: places that differ, or more noise");
}

TEST(ExpectedImprovement, Formula) {
  for (const double mean : {-1.0, 0.0, 0.3, 2.0, 5.0}) {
    for (const double deviation : {0.1, 1.0, 4.0}) {
      const double gain = 0.5 - 0.1 - mean, z = gain / deviation;
      const double below = std::erfc(-z / std::numbers::sqrt2) / 2;
      const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
      EXPECT_NEAR(expected_improvement(0.5, mean, deviation, 0.1), gain * below + deviation * density, 1e-14)
          << mean << " " << deviation;
    }
  }
}

TEST(ExpectedImprovement, WhatIsCertain) {
  EXPECT_EQ(expected_improvement(1, 0.25, 0), 0.75);
  EXPECT_EQ(expected_improvement(1, 1.25, 0), 0);
  EXPECT_EQ(expected_improvement(1, 100, 1), 0);
  EXPECT_DOUBLE_EQ(expected_improvement(1, -100, 1), 101);
}

}  // namespace
}  // namespace starling::tuning
